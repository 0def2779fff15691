// What people ask of the manager, and who may.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "live/answers.h"
#include "live/manager.h"

namespace muster {

namespace {

using nlohmann::json;

// Of numbers that begin with one digit there are 1,111 up to 9999, the last index of an array.
constexpr std::size_t kMostAlike = 2'000;
constexpr std::string_view kWholeArray = "_*";
constexpr std::size_t kMostSubmitBytes = 32U << 20U;  // Of all jobs of one array.

}  // namespace

bool Manager::is_read(const Call& call) const {
  return !std::holds_alternative<SubmitJob>(call) && !std::holds_alternative<CancelJob>(call) &&
         !std::holds_alternative<HoldJob>(call) && !std::holds_alternative<ReleaseJob>(call) &&
         !std::holds_alternative<DrainNode>(call) && !std::holds_alternative<UndrainNode>(call) &&
         !std::holds_alternative<KeepProfile>(call) && !std::holds_alternative<RetryJob>(call);
}

void Manager::ask(Pending pending, std::vector<Input>& inputs) {
  Call& call = pending.call;
  if (auto* submitted = std::get_if<SubmitJob>(&call)) {
    submit(pending.caller, *submitted, std::move(pending.done), inputs);
  } else if (const auto* profile = std::get_if<KeepProfile>(&call)) {
    keep_profile(pending.caller, *profile, std::move(pending.done));
  } else if (const auto* drain = std::get_if<DrainNode>(&call)) {
    change_node(pending.caller, drain->node, false, std::move(pending.done), inputs);
  } else if (const auto* undrain = std::get_if<UndrainNode>(&call)) {
    change_node(pending.caller, undrain->node, true, std::move(pending.done), inputs);
  } else if (const auto* again = std::get_if<RetryJob>(&call)) {
    retry(pending.caller, again->job, std::move(pending.done), inputs);
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
    if (!seen.ok()) return done(unreadable(seen.error()));
    if (seen.value()) {
      const LiveId id = *seen.value();
      waiters_.push_back(
          {std::move(done), said({{"id", id}, {"ids", ids_from(id, inputs)}, {"key_seen", true}})});
      return;
    }
  }
  if (const Refusal refusal = roster_->refuse(request, request.tenant)) {
    return done(refused(400, refusal->message));
  }
  if (const Refusal refusal = resolve_dependencies(caller, request, inputs)) {
    return done(refused(409, refusal->message));
  }
  auto taken = take_in(caller.user, std::move(request), call.key, inputs);
  if (const auto* no = std::get_if<Answer>(&taken)) return done(*no);
  const auto& ids = std::get<std::vector<LiveId>>(taken);
  waiters_.push_back(
      {std::move(done), said({{"id", ids.front()}, {"ids", ids}, {"key_seen", false}}, 201)});
}

// A request that could run here.
std::variant<std::vector<LiveId>, Answer> Manager::take_in(const std::string& user,
                                                           JobRequest request,
                                                           const std::string& key,
                                                           std::vector<Input>& inputs) {
  const std::optional<ArrayRange> array = std::exchange(request.array, std::nullopt);
  const std::size_t count = array ? array->size() : 1;
  const auto mine = per_user_.find(user);
  const std::size_t theirs = mine == per_user_.end() ? 0 : mine->second;
  if (roster_->jobs().size() + inputs.size() + count > settings_.most_queued) {
    return refused(429, fmt::format("the queue is full: {} jobs", settings_.most_queued));
  }
  if (theirs + count > settings_.most_queued_per_user) {
    return refused(429, fmt::format("you have {} jobs that are not over; the limit is {}", theirs,
                                    settings_.most_queued_per_user));
  }
  std::vector<LiveId> ids;
  SubmitInput input;
  input.user = user;
  input.tenant = request.tenant;
  input.request = std::move(request);
  input.text = request_json(input.request);
  if (bulk_of(input) > kMostEntryBulk || input.text.size() * count > kMostSubmitBytes) {
    return refused(413, count == 1 ? "the request is too large to be written down"
                                   : "the request is too large for so many jobs");
  }
  for (std::size_t i = 0; i < count; ++i) {
    input.id = journal_->next_id();
    if (array) {
      input.array = i == 0 ? input.id : input.array;
      input.index = array->first + static_cast<std::int32_t>(i) * array->step;
      input.at_once = array->at_once;
    }
    if (i == 0 && !key.empty()) {
      if (const Refusal refusal = journal_->keep_key(user, key, input.id)) {
        return refused(400, refusal->message);
      }
    }
    ids.push_back(input.id);
    inputs.push_back(input);
  }
  per_user_[user] += count;
  submitted_ += count;
  return ids;
}

// All jobs of the submission whose first job that is, in order.
std::vector<LiveId> Manager::ids_from(LiveId first, const std::vector<Input>& inputs) {
  std::vector<LiveId> ids;
  for (const Input& input : inputs) {  // Of this very turn.
    const auto* other = std::get_if<SubmitInput>(&input);
    if (other != nullptr && other->array == first) ids.push_back(other->id);
  }
  const Result<std::vector<JobRow>> rows =
      reader_->jobs_beginning(fmt::format("{}_", first), kMostArrayJobs);
  if (rows.ok()) {
    for (const JobRow& row : rows.value()) ids.push_back(row.id);
  }
  std::sort(ids.begin(), ids.end());
  if (ids.empty()) ids.push_back(first);
  return ids;
}

// Only jobs that are not over are left in the request. Nobody may wait for others' jobs.
Refusal Manager::resolve_dependencies(const Caller& caller, JobRequest& request,
                                      const std::vector<Input>& inputs) {
  const auto resolve = [&](std::vector<std::uint64_t>& jobs, bool wants_ok) -> Refusal {
    std::vector<std::uint64_t> open;
    for (const std::uint64_t id : jobs) {
      const auto submitted_now = [&](const Input& input) {
        const auto* other = std::get_if<SubmitInput>(&input);
        return other != nullptr && other->id == id && may_see(caller, other->user);
      };
      const LiveJob* live = roster_->find(id);
      if ((live != nullptr && !live->end && may_see(caller, live->user)) ||
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
                                                          const std::string& text, Match match) {
  const Answer none = refused(404, "no such job: " + text);
  if (const Result<std::int64_t> number = parse_int(text); number.ok() && number.value() > 0) {
    const auto id = static_cast<LiveId>(number.value());
    if (const LiveJob* job = roster_->find(id)) {
      if (may_see(caller, job->user)) return FoundJob{id, job->user};
    } else {
      const Result<std::optional<JobRow>> row = reader_->job(id);
      if (!row.ok()) return unreadable(row.error());
      if (row.value() && may_see(caller, row.value()->user)) return FoundJob{id, row.value()->user};
    }
  }
  if (text.empty()) return none;
  Result<std::vector<JobRow>> rows = reader_->jobs_beginning(text, kMostAlike);
  if (!rows.ok()) return unreadable(rows.error());
  std::erase_if(rows.value(), [&](const JobRow& row) { return !may_see(caller, row.user); });
  for (const JobRow& row : rows.value()) {
    if (row.key == text) return FoundJob{row.id, row.user};
  }
  if (rows.value().empty()) return none;
  if (match == Match::kBeginning && rows.value().size() == 1)
    return FoundJob{rows.value()[0].id, rows.value()[0].user};
  std::vector<std::string> names;
  for (const JobRow& row : rows.value()) names.push_back(std::to_string(row.id));
  if (match == Match::kWhole) {
    return refused(404, fmt::format("no such job: {}; changing one takes its whole id: {}", text,
                                    first_few(names)));
  }
  return refused(409,
                 fmt::format("{} is the beginning of several jobs: {}", text, first_few(names)));
}

// What the job will be after it, or why it cannot be done to it.
std::variant<const char*, Answer> Manager::change_job(const Caller& caller, const LiveJob& job,
                                                      const Call& call,
                                                      std::vector<Input>& inputs) {
  const LiveId id = job.id;
  if (job.end) return refused(409, fmt::format("job {} is over", id));
  if (std::holds_alternative<CancelJob>(call)) {
    inputs.push_back(CancelInput{id, caller.user});
    return job.lease ? "stopping" : "cancelled";
  }
  if (job.cancelled) return refused(409, fmt::format("job {} is being cancelled", id));
  if (std::holds_alternative<HoldJob>(call)) {
    if (job.held) return refused(409, fmt::format("job {} is held already", id));
    inputs.push_back(HoldInput{id});
    return job.lease ? "stopping" : "held";
  }
  if (!job.held) return refused(409, fmt::format("job {} is not held", id));
  inputs.push_back(ReleaseInput{id});
  return job.lease ? "stopping" : "queued";
}

void Manager::change(const Caller& caller, const std::string& text, const Call& call,
                     std::function<void(Answer)> done, std::vector<Input>& inputs) {
  if (text.ends_with(kWholeArray)) {
    return change_array(caller, text, call, std::move(done), inputs);
  }
  // Nothing is done to a job that was only perhaps meant.
  const auto found = find_job(caller, text, Match::kWhole);
  if (const auto* answer = std::get_if<Answer>(&found)) return done(*answer);
  const LiveId id = std::get<FoundJob>(found).id;
  const LiveJob* job = roster_->find(id);
  if (job == nullptr) return done(refused(409, fmt::format("job {} is over", id)));
  const auto changed = change_job(caller, *job, call, inputs);
  if (const auto* answer = std::get_if<Answer>(&changed)) return done(*answer);
  json words = {{"id", id}, {"state", std::get<const char*>(changed)}};
  if (job->array != 0) words["array"] = job->array;
  waiters_.push_back({std::move(done), said(words)});
}

// Every job of "12_*" to which it can be done.
void Manager::change_array(const Caller& caller, const std::string& text, const Call& call,
                           std::function<void(Answer)> done, std::vector<Input>& inputs) {
  const Result<std::int64_t> number =
      parse_int(std::string_view(text).substr(0, text.size() - kWholeArray.size()));
  const LiveId array = number.ok() ? static_cast<LiveId>(number.value()) : 0;
  json changed = json::array();
  Answer refusal = refused(404, "no array with jobs that are not over: " + text);
  for (auto at = roster_->jobs().lower_bound(array); array != 0 && at != roster_->jobs().end();
       ++at) {
    const LiveJob& job = at->second;
    if (job.array != array || job.end || !may_see(caller, job.user)) continue;
    const auto after = change_job(caller, job, call, inputs);
    if (const auto* state = std::get_if<const char*>(&after)) {
      changed.push_back({{"id", job.id}, {"state", *state}});
    } else if (changed.empty()) {
      refusal = std::get<Answer>(after);
    }
  }
  if (changed.empty()) return done(refusal);
  const json first = changed.front();
  waiters_.push_back({std::move(done), said({{"id", first["id"]},
                                             {"state", first["state"]},
                                             {"array", array},
                                             {"jobs", std::move(changed)}})});
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

}  // namespace muster
