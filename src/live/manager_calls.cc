// What people ask of the manager, and who may.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "live/manager.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kMostListed = 1'000;

Answer refused(int status, std::string_view why) {
  Answer answer;
  answer.status = status;
  answer.body = json({{"error", why}}).dump(-1, ' ', false, json::error_handler_t::replace);
  return answer;
}

Answer said(const json& body, int status = 200) {
  Answer answer;
  answer.status = status;
  answer.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return answer;
}

bool may_see(const Caller& caller, const std::string& user) {
  return caller.is_operator || caller.user == user;
}

}  // namespace

bool Manager::is_read(const Call& call) const {
  return !std::holds_alternative<SubmitJob>(call) && !std::holds_alternative<CancelJob>(call) &&
         !std::holds_alternative<HoldJob>(call) && !std::holds_alternative<ReleaseJob>(call) &&
         !std::holds_alternative<DrainNode>(call) && !std::holds_alternative<UndrainNode>(call);
}

void Manager::ask(Pending pending, std::vector<Input>& inputs) {
  Call& call = pending.call;
  if (auto* submitted = std::get_if<SubmitJob>(&call)) {
    submit(pending.caller, *submitted, std::move(pending.done), inputs);
  } else if (const auto* drain = std::get_if<DrainNode>(&call)) {
    change_node(pending.caller, drain->node, false, std::move(pending.done), inputs);
  } else if (const auto* undrain = std::get_if<UndrainNode>(&call)) {
    change_node(pending.caller, undrain->node, true, std::move(pending.done), inputs);
  } else if (const auto* cancel = std::get_if<CancelJob>(&call)) {
    change(pending.caller, cancel->job, call, std::move(pending.done), inputs);
  } else if (const auto* hold = std::get_if<HoldJob>(&call)) {
    change(pending.caller, hold->job, call, std::move(pending.done), inputs);
  } else if (const auto* release = std::get_if<ReleaseJob>(&call)) {
    change(pending.caller, release->job, call, std::move(pending.done), inputs);
  }
}

void Manager::submit(const Caller& caller, SubmitJob& call, std::function<void(Answer)> done,
                     std::vector<Input>& inputs) {
  JobRequest& request = call.request;
  if (!call.key.empty()) {
    const auto seen = journal_->job_of_key(caller.user, call.key);
    if (!seen.ok()) return done(refused(503, seen.error().message));
    if (seen.value()) {
      const LiveId id = *seen.value();
      waiters_.push_back({std::move(done), said({{"id", id}, {"ids", {id}}, {"key_seen", true}})});
      return;
    }
  }
  if (const Refusal refusal = roster_->refuse(request, request.tenant)) {
    return done(refused(400, refusal->message));
  }
  if (const Refusal refusal = resolve_dependencies(caller, request, inputs)) {
    return done(refused(409, refusal->message));
  }
  const std::optional<ArrayRange> array = std::exchange(request.array, std::nullopt);
  const std::size_t count = array ? array->size() : 1;
  const auto mine = per_user_.find(caller.user);
  const std::size_t theirs = mine == per_user_.end() ? 0 : mine->second;
  if (roster_->jobs().size() + inputs.size() + count > settings_.most_queued) {
    return done(refused(429, fmt::format("the queue is full: {} jobs", settings_.most_queued)));
  }
  if (theirs + count > settings_.most_queued_per_user) {
    return done(refused(429, fmt::format("you have {} jobs that are not over; the limit is {}",
                                         theirs, settings_.most_queued_per_user)));
  }
  json ids = json::array();
  SubmitInput input;
  input.user = caller.user;
  input.tenant = request.tenant;
  input.request = std::move(request);
  input.text = request_json(input.request);
  if (bulk_of(input) > kMostEntryBulk) {
    return done(refused(413, "the request is too large to be written down"));
  }
  for (std::size_t i = 0; i < count; ++i) {
    input.id = journal_->next_id();
    if (array) {
      input.array = i == 0 ? input.id : input.array;
      input.index = array->first + static_cast<std::int32_t>(i) * array->step;
      input.at_once = array->at_once;
    }
    if (i == 0 && !call.key.empty()) {
      if (const Refusal refusal = journal_->keep_key(caller.user, call.key, input.id)) {
        return done(refused(400, refusal->message));
      }
    }
    ids.push_back(input.id);
    inputs.push_back(input);
  }
  const json first = ids.front();
  waiters_.push_back(
      {std::move(done), said({{"id", first}, {"ids", std::move(ids)}, {"key_seen", false}}, 201)});
}

// Only jobs that are not over are left in the request. Those of others may be waited for too: that
// tells no more than when they end.
Refusal Manager::resolve_dependencies(const Caller& caller, JobRequest& request,
                                      const std::vector<Input>& inputs) {
  const auto resolve = [&](std::vector<std::uint64_t>& jobs, bool wants_ok) -> Refusal {
    std::vector<std::uint64_t> open;
    for (const std::uint64_t id : jobs) {
      const auto submitted_now = [id](const Input& input) {
        const auto* other = std::get_if<SubmitInput>(&input);
        return other != nullptr && other->id == id;
      };
      const LiveJob* live = roster_->find(id);
      if ((live != nullptr && !live->end) ||
          std::any_of(inputs.begin(), inputs.end(), submitted_now)) {
        open.push_back(id);
        continue;
      }
      const Result<std::optional<JobRow>> row = reader_->job(id);
      if (!row.ok()) return row.error();
      if (!row.value() || !may_see(caller, row.value()->user)) {
        return Error{fmt::format("after: no such job: {}", id)};
      }
      if (wants_ok && row.value()->state != state_name(LiveState::kDone)) {
        return Error{fmt::format("after_ok: job {} did not end well: {}", id, row.value()->state)};
      }
    }
    jobs = std::move(open);
    return std::nullopt;
  };
  if (const Refusal refusal = resolve(request.after_ok, true)) return refusal;
  return resolve(request.after_any, false);
}

std::variant<Manager::FoundJob, Answer> Manager::find_job(const Caller& caller,
                                                          const std::string& text) {
  const Answer none = refused(404, "no such job: " + text);
  if (const Result<std::int64_t> number = parse_int(text); number.ok() && number.value() > 0) {
    const auto id = static_cast<LiveId>(number.value());
    if (const LiveJob* job = roster_->find(id)) {
      if (may_see(caller, job->user)) return FoundJob{id, job->user};
    } else {
      const Result<std::optional<JobRow>> row = reader_->job(id);
      if (!row.ok()) return refused(503, row.error().message);
      if (row.value() && may_see(caller, row.value()->user)) return FoundJob{id, row.value()->user};
    }
  }
  if (text.empty()) return none;
  Result<std::vector<JobRow>> rows = reader_->jobs_beginning(text, kMostListed);
  if (!rows.ok()) return refused(503, rows.error().message);
  std::erase_if(rows.value(), [&](const JobRow& row) { return !may_see(caller, row.user); });
  for (const JobRow& row : rows.value()) {
    if (row.key == text) return FoundJob{row.id, row.user};
  }
  if (rows.value().empty()) return none;
  if (rows.value().size() == 1) return FoundJob{rows.value()[0].id, rows.value()[0].user};
  std::vector<std::string> names;
  for (const JobRow& row : rows.value()) names.push_back(std::to_string(row.id));
  return refused(409,
                 fmt::format("{} is the beginning of several jobs: {}", text, first_few(names)));
}

void Manager::change(const Caller& caller, const std::string& text, const Call& call,
                     std::function<void(Answer)> done, std::vector<Input>& inputs) {
  const auto found = find_job(caller, text);
  if (const auto* answer = std::get_if<Answer>(&found)) return done(*answer);
  const LiveId id = std::get<FoundJob>(found).id;
  const LiveJob* job = roster_->find(id);
  if (job == nullptr || job->end) {
    return done(refused(409, fmt::format("job {} is over", id)));
  }
  const char* will_be = "cancelled";
  if (std::holds_alternative<CancelJob>(call)) {
    inputs.push_back(CancelInput{id, caller.user});
    if (job->lease) will_be = "stopping";
  } else if (std::holds_alternative<HoldJob>(call)) {
    if (job->held) return done(refused(409, fmt::format("job {} is held already", id)));
    inputs.push_back(HoldInput{id});
    will_be = job->lease ? "stopping" : "held";
  } else {
    if (!job->held) return done(refused(409, fmt::format("job {} is not held", id)));
    inputs.push_back(ReleaseInput{id});
    will_be = "queued";
  }
  waiters_.push_back({std::move(done), said({{"id", id}, {"state", will_be}})});
}

void Manager::change_node(const Caller& caller, const std::string& node, bool open,
                          std::function<void(Answer)> done, std::vector<Input>& inputs) {
  if (!caller.is_operator) return done(refused(403, "only operators drain servers"));
  if (!roster_->find_node(node)) {
    std::vector<std::string_view> known;
    for (const Node& each : roster_->settings().topology.nodes()) known.push_back(each.name);
    return done(refused(404, "no such server: " + in_quotes(node) + suggestion(node, known)));
  }
  inputs.push_back(DrainInput{node, open});
  waiters_.push_back({std::move(done), said({{"name", node}, {"open", open}})});
}

Answer Manager::answer(const Caller& caller, const Call& call) {
  if (const auto* jobs = std::get_if<ListJobs>(&call)) return list(caller, *jobs);
  if (const auto* job = std::get_if<ShowJob>(&call)) return show(caller, *job);
  if (const auto* log = std::get_if<FindLog>(&call)) return find_log(caller, *log);
  if (const auto* wanted = std::get_if<ListEvents>(&call)) return events(caller, *wanted);
  if (std::holds_alternative<ListNodes>(call)) return said(nodes_view(*roster_, settings_.nodes));
  if (std::holds_alternative<ListTenants>(call)) return said(tenants_view(*roster_));
  if (std::holds_alternative<ShowMetrics>(call)) return metrics();
  return health();
}

Answer Manager::list(const Caller& caller, const ListJobs& call) {
  const std::string user = caller.is_operator ? call.user : caller.user;
  if (!call.user.empty() && call.user != user) return said({{"jobs", json::array()}, {"total", 0}});
  const std::size_t limit = std::min(call.limit, kMostListed);
  const std::optional<LiveState> state = find_state(call.state);
  const bool active = call.state.empty() || call.state == "active";
  json jobs = json::array();
  if (active || (state && !is_over(*state))) {
    std::vector<const LiveJob*> found;
    for (const auto& [id, job] : roster_->jobs()) {
      if (job.end || (!user.empty() && job.user != user)) continue;
      if (!call.tenant.empty() && job.tenant != call.tenant) continue;
      if (state && roster_->state_of(job) != *state) continue;
      found.push_back(&job);
    }
    // What runs first; then as submitted.
    std::stable_partition(found.begin(), found.end(),
                          [](const LiveJob* job) { return job->lease.has_value(); });
    for (std::size_t i = call.offset; i < found.size() && jobs.size() < limit; ++i) {
      jobs.push_back(view_of(*roster_, *found[i], progress_->find(found[i]->id), *clock_));
    }
    return said({{"jobs", std::move(jobs)}, {"total", found.size()}});
  }
  if (!state && call.state != "all" && call.state != "ended") {
    return refused(400, "state: unknown state " + in_quotes(call.state));
  }
  JobFilter filter;
  if (state) filter.state = call.state;
  filter.over = call.state == "ended";
  if (!user.empty()) filter.user = user;
  if (!call.tenant.empty()) filter.tenant = call.tenant;
  filter.limit = limit;
  filter.offset = call.offset;
  const Result<std::vector<JobRow>> rows = reader_->jobs(filter);
  if (!rows.ok()) return refused(503, rows.error().message);
  const Result<std::uint64_t> total = reader_->count(filter);
  if (!total.ok()) return refused(503, total.error().message);
  for (const JobRow& row : rows.value()) {
    const LiveJob* job = roster_->find(row.id);
    jobs.push_back(job != nullptr && !job->end
                       ? view_of(*roster_, *job, progress_->find(row.id), *clock_)
                       : view_of(row, *clock_));
  }
  return said({{"jobs", std::move(jobs)}, {"total", total.value()}});
}

Answer Manager::show(const Caller& caller, const ShowJob& call) {
  const auto found = find_job(caller, call.job);
  if (const auto* answer = std::get_if<Answer>(&found)) return *answer;
  const LiveId id = std::get<FoundJob>(found).id;
  json view;
  json request;
  const LiveJob* job = roster_->find(id);
  if (job != nullptr && !job->end) {
    view = view_of(*roster_, *job, progress_->find(id), *clock_);
    request = json::parse(request_json(job->request), nullptr, false);
  } else {
    const Result<std::optional<JobRow>> row = reader_->job(id);
    if (!row.ok()) return refused(503, row.error().message);
    if (!row.value()) return refused(404, "no such job: " + call.job);
    view = view_of(*row.value(), *clock_);
    const json details = json::parse(row.value()->spec, nullptr, false);
    if (details.is_object()) request = details.value("request", json::object());
  }
  view["request"] = std::move(request);
  json leases = json::array();
  const Result<std::vector<AttemptRow>> attempts = reader_->attempts(id);
  if (!attempts.ok()) return refused(503, attempts.error().message);
  for (const AttemptRow& row : attempts.value()) leases.push_back(view_of(row, *clock_));
  view["leases"] = std::move(leases);
  return said(view);
}

Answer Manager::find_log(const Caller& caller, const FindLog& call) {
  const auto found = find_job(caller, call.job);
  if (const auto* answer = std::get_if<Answer>(&found)) return *answer;
  const LiveId id = std::get<FoundJob>(found).id;
  std::uint32_t used = 0;
  bool over = true;
  const LiveJob* job = roster_->find(id);
  if (job != nullptr) {
    used = job->leases_used;
  } else {
    const Result<std::optional<JobRow>> row = reader_->job(id);
    if (!row.ok()) return refused(503, row.error().message);
    if (row.value()) used = row.value()->attempts;
  }
  const std::uint32_t lease = call.lease.value_or(used);
  if (used == 0) return refused(409, fmt::format("job {} has not started yet", id));
  if (lease == 0 || lease > used) {
    return refused(404, fmt::format("job {} has {} lease{}", id, used, used == 1 ? "" : "s"));
  }
  if (job != nullptr && job->lease && job->lease->number == lease) over = false;
  Answer answer;
  LogPlace place;
  place.directory = fmt::format("{}/leases/j{}.e{}", settings_.home, id, lease);
  if (call.node > 0) place.directory += fmt::format(".n{}", call.node);
  place.job = id;
  place.lease = lease;
  place.over = over;
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
  std::string list;
  std::size_t count = 0;
  for (const Note& note : notes_) {
    if (note.number <= call.after || (only != 0 && note.job != only)) continue;
    if (!caller.is_operator && note.job != 0 && note.user != caller.user) continue;
    if (++count > call.limit) break;
    list += (list.empty() ? "" : ",") + note.json;
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
