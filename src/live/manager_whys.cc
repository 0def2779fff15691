// What people want to know of the future, and of the past: why, when, what if.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "live/answers.h"
#include "live/manager.h"
#include "live/story.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr Duration kQuestionEvery = Duration::seconds(60);
constexpr std::size_t kMostTold = 1'000;
constexpr Duration kShared = Duration::seconds(1);
constexpr const char* kBusy = "too many questions at once; ask again in a moment";

Duration seconds_of(const json& job, const char* key) {
  return Duration::micros(static_cast<std::int64_t>(std::max(job.value(key, 0.0), 0.0) * 1e6));
}

// What shows why it failed, as the view of the job has it.
void put_failure(json& answer, const json& view) {
  for (const char* key : {"signature", "evidence", "line", "advice"}) {
    if (view.contains(key)) answer[key] = view[key];
  }
}

}  // namespace

std::shared_ptr<const Picture> Manager::picture_with(LiveId id, JobId row) {
  const Instant now = clock_->now();
  const auto has = [&] {  // Rows have other numbers after a new beginning of the engine.
    if (row.index() >= last_picture_->live_of.size()) return false;
    if (last_picture_->live_of[row.index()] != id) return false;
    const JobState state = last_picture_->engine.state().jobs[row].state;
    return state == JobState::kWaiting || state == JobState::kParked;
  };
  const bool fresh = last_picture_ && pictured_step_ == roster_->now() &&
                     now - last_picture_->now <= kShared && (id == 0 || has());
  if (!fresh) {
    last_picture_ = std::make_shared<const Picture>(roster_->picture(now));
    pictured_step_ = roster_->now();
  }
  return last_picture_;
}

// A job that is with the scheduler and has no lease is looked at on another thread.
void Manager::explain(Pending pending) {
  const auto found = find_job(pending.caller, std::get<ExplainJob>(pending.call).job);
  if (const auto* no = std::get_if<Answer>(&found)) return pending.done(*no);
  const LiveId id = std::get<FoundJob>(found).id;
  const LiveJob* job = roster_->find(id);
  if (job == nullptr || job->end) {
    const Result<std::optional<JobRow>> row = reader_->job(id);
    if (!row.ok()) return pending.done(unreadable(row.error()));
    if (!row.value()) return pending.done(refused(404, "no job " + std::to_string(id)));
    return pending.done(story_of(*row.value()));
  }
  const LiveState state = roster_->state_of(*job);
  const bool with_engine = (state == LiveState::kQueued || state == LiveState::kRetrying) &&
                           roster_->engine().state().jobs.contains(*job->row);
  if (!with_engine) return pending.done(said(story_of(*job)));
  if (!forecaster_.has_room(pending.caller.user)) return pending.done(refused(429, kBusy));
  auto picture = picture_with(id, *job->row);
  json last = json::object();  // What became of it so far.
  if (job->started) {
    last["before"] =
        fmt::format("ran {} in {} lease{} so far{}{}", short_duration(job->ran), job->leases_used,
                    job->leases_used == 1 ? "" : "s", job->why.empty() ? "" : "; ", job->why);
  }
  if (state == LiveState::kRetrying) put_proof(last, job->proof);
  const std::int32_t asked = job->wants_trial() ? job->request.gpus : 0;
  forecaster_.ask(
      [this, picture, id, row = *job->row, name = job->request.name, state, last, asked,
       reader = reader_for(pending.caller), done = pending.done] {
        Forecast forecast;
        json answer = why_json(*picture, row, reader, forecast);
        if (asked > 1) {
          answer["facts"]["asked"] = asked;
          answer["why"] = fmt::format("wants {} GPUs, 1 first for its pre-run: {}", asked,
                                      answer["why"].get<std::string>());
        }
        answer.update(last);
        answer["id"] = id;
        answer["name"] = name;
        answer["state"] = state_name(state);
        keep_forecast(id, {row, picture->now, forecast});
        done(said(answer));
      },
      pending.caller.user);
}

void Manager::plan(Pending pending) {
  JobRequest& request = std::get<PlanJob>(pending.call).request;
  if (const Refusal never = roster_->refuse(request, request.tenant)) {
    return pending.done(said({{"verdict", "never"}, {"says", never->message}}));
  }
  if (request.hold || !request.after_ok.empty() || !request.after_any.empty()) {
    const std::size_t jobs = request.after_ok.size() + request.after_any.size();
    return pending.done(
        said({{"verdict", "queue"},
              {"says", request.hold ? "would be held until it is released"
                                    : fmt::format("would wait for {} other job{} to end first",
                                                  jobs, jobs == 1 ? "" : "s")},
              {"constraint", request.hold ? "hold" : "dependency"}}));
  }
  if (!forecaster_.has_room(pending.caller.user)) return pending.done(refused(429, kBusy));
  auto picture = picture_with();
  const JobSpec spec = roster_->imagine(request, pending.caller.user, request.tenant);
  forecaster_.ask([picture, spec, reader = reader_for(pending.caller),
                   done = pending.done] { done(said(plan_json(*picture, spec, reader))); },
                  pending.caller.user);
}

json Manager::story_of(const LiveJob& job) const {
  json view = view_of(*roster_, job, progress_->find(job.id), *clock_);
  const LiveState state = roster_->state_of(job);
  json answer = {{"id", job.id},
                 {"name", job.request.name},
                 {"state", state_name(state)},
                 {"constraint", state == LiveState::kHeld      ? "hold"
                                : state == LiveState::kBlocked ? "dependency"
                                                               : "none"},
                 {"why", why_waiting(*roster_, job)}};
  put_failure(answer, view);
  if (!job.lease || !job.row) return answer;
  const Placement& placement = job.lease->placement;
  const Resources total = total_of(placement);
  const Duration waited = std::max(job.lease->since - job.waits_since, Duration());
  const double cpus = view.value("cpus", 0.0);
  answer["why"] = fmt::format(
      "{} on {} with {} GPU{}, {:.4g} CPU{} and {:.4g} GiB, after {} of "
      "waiting",
      state_name(state), view.value("where", ""), total.gpus, total.gpus == 1 ? "" : "s", cpus,
      cpus == 1 ? "" : "s", view.value("mem_gib", 0.0),
      waited < Duration::seconds(1) ? "less than 1 s" : short_duration(waited));
  if (state == LiveState::kStarting && !job.lease->says.empty()) {
    answer["why"] =
        brief(fmt::format("starting on {}: {}", view.value("where", ""), job.lease->says));
  }
  const SchedulerParts& parts = roster_->settings().planner.parts;
  json facts = {
      {"policy", parts.policy}, {"mechanism", parts.mechanism}, {"placement", parts.placement}};
  const Cluster& cluster = *roster_->engine().state().cluster;
  const Resources least = roster_->imagine(job.request, job.user, job.tenant).least;
  answer["because"] = {
      {{"about", "place"}, {"says", place_words(placement, parts)}},
      {{"about", "cpus"}, {"says", cpu_words(cluster, placement, least, parts)}},
      {{"about", "memory"}, {"says", memory_words(cluster, placement, least, parts)}}};
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    facts["waited_s"][std::string(kWaitCauseNames[i])] =
        job.waited_for_lease.by_cause[i].in_seconds();
  }
  answer["facts"] = std::move(facts);
  return answer;
}

Answer Manager::story_of(const JobRow& row) const {
  const json view = view_of(row, *clock_);
  PastTimes times;
  json answer = {{"id", row.id}, {"name", row.name}, {"state", row.state}, {"constraint", "none"}};
  std::string went = "it never ran";
  if (row.ended) times.all = *row.ended - row.submitted;
  if (row.ended && row.started) {
    times.waited = *row.started - row.submitted;
    times.ran = std::min(seconds_of(view, "ran_s"), times.all);
    times.leases = view.value("leases_used", 0);
    went = times_words(times);
  }
  // What went wrong comes first; where its time went, if nothing did.
  const bool well = row.exit.empty() || row.state == state_name(LiveState::kDone);
  answer["why"] = well ? fmt::format("{} after {}: {}", row.state, short_duration(times.all), went)
                       : end_words(row.state, times, row.exit);
  answer["time"] = went;
  if (!row.exit.empty()) answer["end"] = row.exit;
  put_failure(answer, view);
  return said(answer);
}

// From the forecaster's thread.
void Manager::keep_forecast(LiveId id, const Told& told) {
  const std::lock_guard lock(told_mutex_);
  if (told_.size() < kMostTold) told_.try_emplace(id, told);
}

// Bands are corrected by how they were off, so now and then one is made even if nobody asks.
void Manager::ask_about_somebody() {
  if (last_picture_ && clock_->now() - last_picture_->now > kShared) last_picture_.reset();
  if (clock_->now() < next_question_ || !forecaster_.is_idle()) return;
  next_question_ = clock_->now() + kQuestionEvery;
  if (roster_->engine().state().waiting == 0) return;
  for (const auto& [id, job] : roster_->jobs()) {
    if (job.started || !job.row || roster_->state_of(job) != LiveState::kQueued) continue;
    {
      const std::lock_guard lock(told_mutex_);
      if (told_.contains(id)) continue;
    }
    auto picture = picture_with(id, *job.row);
    forecaster_.ask([this, picture, id = id, row = *job.row, errors = errors_] {
      keep_forecast(id, {row, picture->now, forecast_of(*picture, row, errors)});
    });
    return;
  }
}

void Manager::judge_forecasts() {
  const std::lock_guard lock(told_mutex_);
  std::erase_if(told_, [this](const auto& entry) {
    const LiveJob* job = roster_->find(entry.first);
    const Told& told = entry.second;
    // What kept it since was no fault of the forecast.
    if (job == nullptr || job->row != told.row || job->wants_trial()) return true;
    if (!job->started) return false;
    if (*job->started > told.asked) {
      errors_.learn(told.asked, told.forecast.raw, told.forecast.told, *job->started);
    }
    return true;
  });
}

}  // namespace muster
