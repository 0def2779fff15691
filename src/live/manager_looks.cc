// What people want to see.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "live/answers.h"
#include "live/manager.h"

namespace muster {

namespace {
using nlohmann::json;
}  // namespace

Answer Manager::answer(const Caller& caller, const Call& call) {
  if (const auto* jobs = std::get_if<ListJobs>(&call)) return list(caller, *jobs);
  if (const auto* job = std::get_if<ShowJob>(&call)) return show(caller, *job);
  if (const auto* log = std::get_if<FindLog>(&call)) return find_log(caller, *log);
  if (const auto* wanted = std::get_if<ListEvents>(&call)) return events(caller, *wanted);
  if (std::holds_alternative<ListNodes>(call)) return nodes(caller);
  if (std::holds_alternative<ListTenants>(call)) return said(tenants_view(*roster_));
  if (std::holds_alternative<ListProfiles>(call)) return list_profiles(caller);
  if (std::holds_alternative<ShowMetrics>(call)) return metrics();
  if (std::holds_alternative<ShowMe>(call)) return me(caller);
  if (std::holds_alternative<ShowFleet>(call)) return fleet(caller);
  if (const auto* whole = std::get_if<ShowWholeJob>(&call)) return page(caller, *whole);
  // Nothing is asked of other threads while the disk is full.
  if (std::holds_alternative<ShowHealth>(call) || !blocked_.empty()) return health();
  return refused(404, "a live manager has no such thing");
}

Answer Manager::show(const Caller& caller, const ShowJob& call) {
  const auto found = find_job(caller, call.job);
  if (const auto* answer = std::get_if<Answer>(&found)) return *answer;
  const auto view = whole_view(std::get<FoundJob>(found));
  if (const auto* answer = std::get_if<Answer>(&view)) return *answer;
  return said(std::get<json>(view));
}

// With request and leases.
std::variant<json, Answer> Manager::whole_view(const FoundJob& found) {
  const LiveId id = found.id;
  json view;
  json request;
  const LiveJob* job = roster_->find(id);
  if (job != nullptr && !job->end) {
    view = view_of(*roster_, *job, progress_->find(id), *clock_);
    request = json::parse(request_json(job->request), nullptr, false);
    if (const JobSeries* series = progress_->series(id)) {
      view["remaining"] = remaining_json(series->predict(ran_by_now(*job)));
    }
  } else {
    const Result<std::optional<JobRow>> row = reader_->job(id);
    if (!row.ok()) return unreadable(row.error());
    if (!row.value()) return refused(404, fmt::format("no such job: {}", id));
    view = view_of(*row.value(), *clock_);
    const json details = json::parse(row.value()->spec, nullptr, false);
    if (details.is_object()) request = details.value("request", json::object());
  }
  view["request"] = std::move(request);
  json leases = json::array();
  const Result<std::vector<AttemptRow>> attempts = reader_->attempts(id);
  if (!attempts.ok()) return unreadable(attempts.error());
  for (const AttemptRow& row : attempts.value()) leases.push_back(view_of(row, *clock_));
  view["leases"] = std::move(leases);
  return view;
}

Answer Manager::find_log(const Caller& caller, const FindLog& call) {
  const auto found = find_job(caller, call.job);
  if (const auto* answer = std::get_if<Answer>(&found)) return *answer;
  const LiveId id = std::get<FoundJob>(found).id;
  std::uint32_t used = 0;
  const LiveJob* job = roster_->find(id);
  if (job != nullptr) {
    used = job->leases_used;
  } else {
    const Result<std::optional<JobRow>> row = reader_->job(id);
    if (!row.ok()) return unreadable(row.error());
    if (row.value()) used = row.value()->attempts;
  }
  const std::uint32_t lease = call.lease.value_or(used);
  if (used == 0) return refused(409, fmt::format("job {} has not started yet", id));
  if (lease == 0 || lease > used) {
    return refused(404, fmt::format("job {} has {} lease{}", id, used, used == 1 ? "" : "s"));
  }
  Answer answer;
  LogPlace place;
  place.directory = fmt::format("{}/leases/j{}.e{}", settings_.home, id, lease);
  if (call.node > 0) place.directory += fmt::format(".n{}", call.node);
  const bool live = job != nullptr && job->lease && job->lease->number == lease;
  if (live ? call.node >= job->lease->placement.size()
           : !std::filesystem::exists(place.directory)) {
    return refused(404, fmt::format("lease {} of job {} has no such server, or its output is no "
                                    "longer kept",
                                    lease, id));
  }
  place.job = id;
  place.lease = lease;
  place.over = !live;
  answer.log = std::move(place);
  return answer;
}

Answer Manager::events(const Caller& caller, const ListEvents& call) {
  LiveId only = 0;
  if (!call.job.empty()) {
    const auto found = find_job(caller, call.job);
    if (const auto* answer = std::get_if<Answer>(&found)) return *answer;
    only = std::get<FoundJob>(found).id;
  }
  EventFilter filter;
  filter.job = only;
  filter.after = call.after;
  filter.limit = call.limit;
  if (only == 0 && last_note_ > kMostListedNotes) {
    filter.after = std::max(filter.after, last_note_ - kMostListedNotes);
  }
  if (!caller.is_operator) filter.user = caller.user;
  const Result<std::vector<EventRow>> rows = reader_->events(filter);
  if (!rows.ok()) return unreadable(rows.error());
  std::string list;
  for (const EventRow& row : rows.value()) {
    const bool full = caller.is_operator && !row.full.empty();
    list += (list.empty() ? "" : ",") + (full ? row.full : row.json);
  }
  Answer answer;
  answer.body = "{\"events\":[" + list + "]}";
  return answer;
}

Answer Manager::health() const {
  if (!blocked_.empty()) {
    return said({{"ok", false}, {"error", "cannot write to disk: " + blocked_}}, 503);
  }
  return said({{"ok", true}, {"digest", roster_->digest()}});
}

Answer Manager::metrics() const {
  std::map<std::string_view, std::size_t> states;
  int used = 0;
  for (const auto& [id, job] : roster_->jobs()) {
    ++states[state_name(roster_->state_of(job))];
    if (job.lease) used += total_of(job.lease->placement).gpus;
  }
  std::string text =
      "# HELP muster_jobs Jobs that are not over, by state.\n# TYPE muster_jobs gauge\n";
  for (const char* state :
       {"held", "blocked", "queued", "starting", "running", "stopping", "retrying"}) {
    text += fmt::format("muster_jobs{{state=\"{}\"}} {}\n", state, states[state]);
  }
  text += "# HELP muster_gpus GPUs there are.\n# TYPE muster_gpus gauge\n";
  text += fmt::format("muster_gpus {}\n", roster_->settings().topology.total().gpus);
  text += "# HELP muster_gpus_used GPUs that leases hold.\n# TYPE muster_gpus_used gauge\n";
  text += fmt::format("muster_gpus_used {}\n", used);
  text +=
      "# HELP muster_submitted_total Jobs submitted since the start.\n"
      "# TYPE muster_submitted_total counter\n";
  text += fmt::format("muster_submitted_total {}\n", submitted_);
  text +=
      "# HELP muster_ended_total Jobs that ended since the start, by how.\n"
      "# TYPE muster_ended_total counter\n";
  for (std::size_t i = 0; i < 4; ++i) {
    const auto end = static_cast<LiveState>(static_cast<std::size_t>(LiveState::kDone) + i);
    text += fmt::format("muster_ended_total{{end=\"{}\"}} {}\n", state_name(end), ended_[i]);
  }
  const Engine::Counters& counters = roster_->engine().counters();
  text +=
      "# HELP muster_decisions Starts, stops and resizes since the last snapshot.\n"
      "# TYPE muster_decisions gauge\n";
  text += fmt::format("muster_decisions {}\n", counters.decisions);
  text +=
      "# HELP muster_journal_blocked 1 while the journal cannot be written.\n"
      "# TYPE muster_journal_blocked gauge\n";
  text += fmt::format("muster_journal_blocked {}\n", blocked_.empty() ? 0 : 1);
  Answer answer;
  answer.body = std::move(text);
  return answer;
}

}  // namespace muster
