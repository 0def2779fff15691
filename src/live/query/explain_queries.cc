// Explains why a job waits, runs or finished, when it will start, and what a request would get.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "live/access/submission.h"
#include "live/query/forecast_queries.h"
#include "live/query/job_lookup.h"
#include "live/views/answers.h"
#include "live/views/job_text.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr Duration kShared = Duration::seconds(1);

Duration seconds_of(const json& job, const char* key) {
  return Duration::micros(static_cast<std::int64_t>(std::max(job.value(key, 0.0), 0.0) * 1e6));
}

// Copies the cause of a failure from the view of the job.
void put_failure(json& answer, const json& view) {
  for (const char* key : {"signature", "evidence", "line", "advice"}) {
    if (view.contains(key)) answer[key] = view[key];
  }
}

}  // namespace

std::shared_ptr<const EngineSnapshot> ForecastQueries::snapshot_with(LiveId id, JobId row) {
  const Roster& roster = *context_.roster;
  const Instant now = context_.clock.now();
  const auto has = [&] {
    if (row.index() >= snapshot_->live_of.size()) return false;
    if (snapshot_->live_of[row.index()] != id) return false;
    const JobState state = snapshot_->engine.state().jobs[row].state;
    return state == JobState::kWaiting || state == JobState::kBackOff;
  };
  const bool fresh = snapshot_ && snapshot_version_ == version_now() &&
                     now - snapshot_->now <= kShared && (id == 0 || has());
  if (!fresh) {
    snapshot_ = std::make_shared<const EngineSnapshot>(engine_snapshot(roster, now));
    snapshot_version_ = version_now();
  }
  return snapshot_;
}

// Runs on the worker. A published band of a job is repeated while it is recent.
Audience ForecastQueries::reader_for(const Caller& caller, LiveId id, JobId row,
                                     const EngineSnapshot& snapshot) {
  Audience reader{caller, context_.clock};
  if (id == 0) {
    reader.correct = [this, now = snapshot.now](const StartSamples& samples) {
      return book_.correct(now, samples);
    };
    return reader;
  }
  reader.published = book_.find(id, row, snapshot.now);
  reader.correct = [this, id, row, now = snapshot.now](const StartSamples& samples) {
    return book_.correct(id, row, now, samples);
  };
  return reader;
}

// A worker handles jobs that wait in the engine; all other answers are made here.
void ForecastQueries::explain(const Caller& caller, const ExplainJob& call, Done done) {
  const Roster& roster = *context_.roster;
  const Result<FoundJob> found = find_job(context_, caller, call.job);
  if (!found.ok()) return done(error_answer(found.error()));
  const LiveId id = found.value().id;
  const LiveJob* job = roster.find(id);
  if (job == nullptr || job->end) {
    const Result<std::optional<JobRow>> row = context_.rows.job(id);
    if (!row.ok()) return done(error_answer(unreadable(row.error())));
    if (!row.value()) {
      return done(error_answer({"no such job: " + std::to_string(id), ErrorCode::kNotFound}));
    }
    return done(story_of(*row.value()));
  }
  const LiveState state = roster.state_of(*job);
  const bool with_engine = (state == LiveState::kQueued || state == LiveState::kRetrying) &&
                           roster.engine().state().jobs.contains(*job->row);
  if (!with_engine) return done(json_answer(story_of(*job)));
  if (!worker_.has_room(caller.user)) return done(error_answer(too_many_questions()));
  json last = json::object();  // Data about its earlier leases.
  if (job->started) {
    last["before"] =
        fmt::format("ran {} in {} lease{} so far{}{}", short_duration(job->ran), job->leases_used,
                    job->leases_used == 1 ? "" : "s", job->why.empty() ? "" : "; ", job->why);
  }
  if (state == LiveState::kRetrying) put_proof(last, job->proof);
  const std::int32_t asked = job->wants_trial() ? job->request.gpus : 0;
  worker_.ask(
      [this, snapshot = snapshot_with(id, *job->row), id, row = *job->row, name = job->request.name,
       state, last, asked, caller, done = std::move(done)] {
        const Audience reader = reader_for(caller, id, row, *snapshot);
        Band band;
        json answer = why_json(*snapshot, row, reader, band);
        if (asked > 1) {
          answer["facts"]["asked"] = asked;
          answer["why"] = fmt::format("needs {} GPUs, first 1 for its pre-run: {}", asked,
                                      answer["why"].get<std::string>());
        }
        answer.update(last);
        answer["id"] = id;
        answer["name"] = name;
        answer["state"] = state_name(state);
        const bool same = reader.published && reader.published->likely == band.likely;
        if (!same) book_.publish(snapshot->now, {{id, {row, band}}});
        done(json_answer(answer));
      },
      caller.user);
}

void ForecastQueries::plan(const Caller& caller, const PlanJob& call, Done done) {
  JobRequest request = call.request;
  set_default_tenant(caller, request);
  if (const MaybeError refusal = check_submission(caller, request)) {
    return done(error_answer(*refusal));
  }
  if (const MaybeError never = context_.roster->refuse(request, request.tenant)) {
    return done(json_answer({{"verdict", "never"}, {"says", never->message}}));
  }
  if (request.hold || !request.after_ok.empty() || !request.after_any.empty()) {
    const std::size_t jobs = request.after_ok.size() + request.after_any.size();
    return done(
        json_answer({{"verdict", "queue"},
                     {"says", request.hold ? "would be held until released"
                                           : fmt::format("would wait for {} other job{} to finish",
                                                         jobs, jobs == 1 ? "" : "s")},
                     {"constraint", request.hold ? "hold" : "dependency"}}));
  }
  if (!worker_.has_room(caller.user)) return done(error_answer(too_many_questions()));
  const JobSpec spec = context_.roster->to_job_spec(request, caller.user, request.tenant);
  worker_.ask(
      [this, snapshot = snapshot_with(), spec, caller, done = std::move(done)] {
        const Audience reader = reader_for(caller, 0, JobId(), *snapshot);
        done(json_answer(plan_json(*snapshot, spec, reader)));
      },
      caller.user);
}

json ForecastQueries::story_of(const LiveJob& job) const {
  json view = view_of(*context_.roster, job, context_.progress.find(job.id), context_.clock);
  const LiveState state = context_.roster->state_of(job);
  json answer = {{"id", job.id},
                 {"name", job.request.name},
                 {"state", state_name(state)},
                 {"constraint", state == LiveState::kHeld      ? "hold"
                                : state == LiveState::kBlocked ? "dependency"
                                                               : "none"},
                 {"why", why_waiting(*context_.roster, job)}};
  put_failure(answer, view);
  if (!job.lease || !job.row) return answer;
  const Placement& placement = job.lease->placement;
  const Resources total = total_of(placement);
  Duration waited;  // The same time as in `facts`, where it is split by cause.
  for (const Duration each : job.waited_for_lease.by_cause) waited += each;
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
  const SchedulerParts& parts = context_.roster->settings().planner.parts;
  json facts = {
      {"policy", parts.policy}, {"mechanism", parts.mechanism}, {"placement", parts.placement}};
  const Cluster& cluster = *context_.roster->engine().state().cluster;
  const Resources least = context_.roster->to_job_spec(job.request, job.user, job.tenant).least;
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

Answer ForecastQueries::story_of(const JobRow& row) const {
  const json view = view_of(row, context_.clock);
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
  // A failed job shows the failure first; a successful one shows where its time went.
  const bool well = row.exit.empty() || row.state == state_name(LiveState::kDone);
  answer["why"] = well ? fmt::format("{} after {}: {}", row.state, short_duration(times.all), went)
                       : end_words(row.state, times, row.exit);
  answer["time"] = went;
  if (!row.exit.empty()) answer["end"] = row.exit;
  put_failure(answer, view);
  return json_answer(answer);
}

void ForecastQueries::after_turn() {
  if (snapshot_ && context_.clock.now() - snapshot_->now > kShared) snapshot_.reset();
  book_.evaluate(*context_.roster);
  renew_bands();
}

}  // namespace muster
