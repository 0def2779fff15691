#include "live/manager/job_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "live/access/submission.h"
#include "live/codec/input_codec.h"
#include "live/query/job_lookup.h"
#include "live/views/answers.h"
#include "live/views/job_owner.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::string_view kWholeArray = "_*";
constexpr std::int64_t kLongestMaintenance = 365 * 86'400;  // Seconds.
constexpr std::size_t kMaxSubmitBytes = 32U << 20U;         // Total for all jobs of an array.

Error conflict(std::string message) { return Error{std::move(message), ErrorCode::kConflict}; }

// Identifies a user by the uid. A name cannot begin with '#'.
std::string user_key(const JobOwner& owner) {
  return owner.uid == kNoUid ? std::string(owner.user) : fmt::format("#{}", owner.uid);
}

// The caller can see the job, so its existence is no secret.
MaybeError check_may_change(const Caller& caller, LiveId id, const JobOwner& owner) {
  if (MaybeError refusal = check_not_viewer(caller)) return refusal;
  if (may_change(caller, owner)) return std::nullopt;
  return Error{
      fmt::format("job {}: only its user, admins of its tenant and operators can change it", id),
      ErrorCode::kForbidden};
}

}  // namespace

JobCommands::JobCommands(const ReadContext& context, Journal& journal, SpeedLearning& speeds,
                         QueueLimits limits)
    : context_(context), journal_(journal), speeds_(speeds), limits_(limits) {
  for (const auto& [id, job] : context_.roster->jobs()) {
    if (!job.end) ++active_[user_key(owner_of(job))];
  }
}

void JobCommands::job_ended(const LiveJob& job) {
  const std::string user = user_key(owner_of(job));
  if (--active_[user] == 0) active_.erase(user);
}

// Keys are stored by user name, and two users can have had the same name.
MaybeError JobCommands::check_key_owner(const Caller& caller, LiveId job, const Inputs& inputs) {
  bool own = true;
  for (const Input& input : inputs) {
    const auto* other = std::get_if<SubmitInput>(&input);
    if (other != nullptr && other->id == job) own = is_own(caller, owner_of(*other));
  }
  if (const LiveJob* live = context_.roster->find(job)) {
    own = is_own(caller, owner_of(*live));
  } else {
    const Result<std::optional<JobRow>> row = context_.rows.job(job);
    if (!row.ok()) return unreadable(row.error());
    if (row.value()) own = is_own(caller, owner_of(*row.value()));
  }
  if (own) return std::nullopt;
  return conflict("Idempotency-Key: used before by another user of the same name");
}

JobCommands::Outcome JobCommands::on(const Caller& caller, SubmitJob& call, Inputs& inputs) {
  JobRequest& request = call.request;
  if (!call.key.empty()) {
    const auto seen = journal_.job_of_key(caller.user, call.key);
    if (!seen.ok()) return unreadable(seen.error());
    if (seen.value()) {
      if (const MaybeError refusal = check_key_owner(caller, *seen.value(), inputs))
        return *refusal;
    }
    if (seen.value()) return CommandOutcome{SubmittedJobs{ids_from(*seen.value(), inputs), true}};
  }
  set_default_tenant(caller, request);
  if (const MaybeError refusal = check_submission(caller, request)) return *refusal;
  if (const MaybeError refusal = context_.roster->refuse(request, request.tenant)) return *refusal;
  if (const MaybeError refusal = resolve_dependencies(caller, request, inputs)) return *refusal;
  Result<std::vector<LiveId>> ids =
      take_in({caller.user, caller.uid, ""}, std::move(request), call.key, inputs);
  if (!ids.ok()) return ids.error();
  return CommandOutcome{SubmittedJobs{std::move(ids).value(), false}};
}

Result<std::vector<LiveId>> JobCommands::take_in(const JobOwner& owner, JobRequest request,
                                                 const std::string& key, Inputs& inputs) {
  const std::optional<ArrayRange> array = std::exchange(request.array, std::nullopt);
  const std::size_t count = array ? array->size() : 1;
  const std::string user = user_key(owner);
  const auto mine = active_.find(user);
  const std::size_t theirs = mine == active_.end() ? 0 : mine->second;
  if (context_.roster->jobs().size() + inputs.size() + count > limits_.jobs) {
    return Error{fmt::format("the queue has room for {} jobs and this request adds {}; retry later",
                             limits_.jobs, count),
                 ErrorCode::kBusy};
  }
  if (theirs + count > limits_.per_user) {
    return Error{fmt::format("you have {} active jobs and this request adds {}; the limit is {}",
                             theirs, count, limits_.per_user),
                 ErrorCode::kBusy};
  }
  std::vector<LiveId> ids;
  SubmitInput input;
  input.user = owner.user;
  input.uid = owner.uid;
  input.tenant = request.tenant;
  input.request = std::move(request);
  input.text = request_json(input.request);
  if (bulk_of(input) > kMaxEntryBulk || input.text.size() * count > kMaxSubmitBytes) {
    return Error{count == 1 ? "the request is too large"
                            : "the request is too large for an array of this size",
                 ErrorCode::kTooLarge};
  }
  for (std::size_t i = 0; i < count; ++i) {
    input.id = journal_.next_id();
    if (array) {
      input.array = i == 0 ? input.id : input.array;
      input.index = array->first + static_cast<std::int32_t>(i) * array->step;
      input.at_once = array->at_once;
    }
    if (i == 0 && !key.empty()) {
      if (const MaybeError refusal = journal_.keep_key(input.user, key, input.id)) return *refusal;
    }
    ids.push_back(input.id);
    inputs.push_back(input);
  }
  active_[user] += count;
  return ids;
}

// Returns all jobs of the submission that begins with job `first`, in order.
std::vector<LiveId> JobCommands::ids_from(LiveId first, const Inputs& inputs) {
  std::vector<LiveId> ids;
  for (const Input& input : inputs) {  // Jobs of this turn, which have no row yet.
    const auto* other = std::get_if<SubmitInput>(&input);
    if (other != nullptr && other->array == first) ids.push_back(other->id);
  }
  const Result<std::vector<JobRow>> rows =
      context_.rows.jobs_beginning(fmt::format("{}_", first), kMaxArrayJobs);
  if (rows.ok()) {
    for (const JobRow& row : rows.value()) ids.push_back(row.id);
  }
  std::sort(ids.begin(), ids.end());
  if (ids.empty()) ids.push_back(first);
  return ids;
}

// Removes finished jobs from the dependencies. A job may depend only on jobs that its user may see.
MaybeError JobCommands::resolve_dependencies(const Caller& caller, JobRequest& request,
                                             const Inputs& inputs) {
  const auto resolve = [&](std::vector<std::uint64_t>& jobs, bool wants_ok) -> MaybeError {
    std::vector<std::uint64_t> open;
    for (const std::uint64_t id : jobs) {
      const auto submitted_now = [&](const Input& input) {
        const auto* other = std::get_if<SubmitInput>(&input);
        return other != nullptr && other->id == id && may_see(caller, owner_of(*other));
      };
      const LiveJob* live = context_.roster->find(id);
      if ((live != nullptr && !live->end && may_see(caller, owner_of(*live))) ||
          std::any_of(inputs.begin(), inputs.end(), submitted_now)) {
        open.push_back(id);
        continue;
      }
      const Result<std::optional<JobRow>> row = context_.rows.job(id);
      if (!row.ok()) return unreadable(row.error());
      if (!row.value() || !may_see(caller, owner_of(*row.value()))) {
        return conflict(fmt::format("after: no such job: {}", id));
      }
      if (wants_ok && row.value()->state != state_name(LiveState::kDone)) {
        return conflict(
            fmt::format("after_ok: job {} did not succeed: {}", id, row.value()->state));
      }
    }
    jobs = std::move(open);
    return std::nullopt;
  };
  if (const MaybeError refusal = resolve(request.after_ok, true)) return refusal;
  return resolve(request.after_any, false);
}

// Returns the request of a finished job. A job of an array keeps its index, in a new array.
Result<JobRequest> JobCommands::request_of(LiveId id) {
  const Result<std::optional<JobRow>> row = context_.rows.job(id);
  if (!row.ok()) return unreadable(row.error());
  if (!row.value()) return Error{fmt::format("no such job: {}", id), ErrorCode::kNotFound};
  const json details = json::parse(row.value()->spec, nullptr, false);
  const json kept = details.is_object() ? details.value("request", json()) : json();
  Result<JobRequest> request = read_request(kept.dump());
  if (!request.ok()) {
    return conflict(
        fmt::format("job {}: cannot read its request: {}", id, request.error().message));
  }
  if (details.contains("index")) {
    const auto index = details.value("index", std::int32_t{0});
    request.value().array = ArrayRange{index, index, 1, 0};
  }
  return request;
}

// The new job belongs to the user of the old one, even if an operator retries it, because the user
// determines the quota and the files.
JobCommands::Outcome JobCommands::on(const Caller& caller, const RetryJob& call, Inputs& inputs) {
  if (call.job.ends_with(kWholeArray))
    return conflict("retry accepts one job, not an array: " + call.job);
  const Result<FoundJob> found = find_job(context_, caller, call.job, Match::kWhole);
  if (!found.ok()) return found.error();
  const FoundJob& old = found.value();
  if (const MaybeError refusal = check_may_change(caller, old.id, old.owner())) return *refusal;
  const Roster& roster = *context_.roster;
  const LiveJob* job = roster.find(old.id);
  if (job != nullptr && !job->end) {
    return conflict(
        fmt::format("job {} is still active: {}", old.id, state_name(roster.state_of(*job))));
  }
  Result<JobRequest> read = request_of(old.id);
  if (!read.ok()) return read.error();
  JobRequest& request = read.value();
  for (std::vector<std::uint64_t>* jobs : {&request.after_ok, &request.after_any}) {
    std::erase_if(*jobs, [&](std::uint64_t id) {
      const LiveJob* other = roster.find(id);
      return other == nullptr || other->end;
    });
  }
  if (is_own(caller, old.owner())) set_default_tenant(caller, request);
  if (const MaybeError refusal = check_submission(caller, request)) return *refusal;
  if (const MaybeError refusal = roster.refuse(request, request.tenant)) return *refusal;
  const Result<std::vector<LiveId>> ids = take_in(old.owner(), std::move(request), "", inputs);
  if (!ids.ok()) return ids.error();
  return CommandOutcome{RetriedJob{ids.value().front(), old.id, old.user, old.uid}};
}

JobCommands::Outcome JobCommands::on(const Caller& caller, const CancelJob& call, Inputs& inputs) {
  return change(caller, call.job, Change::kCancel, inputs);
}

JobCommands::Outcome JobCommands::on(const Caller& caller, const HoldJob& call, Inputs& inputs) {
  return change(caller, call.job, Change::kHold, inputs);
}

JobCommands::Outcome JobCommands::on(const Caller& caller, const ReleaseJob& call, Inputs& inputs) {
  return change(caller, call.job, Change::kRelease, inputs);
}

Result<ChangedJob> JobCommands::change_job(const Caller& caller, const LiveJob& job, Change change,
                                           Inputs& inputs) {
  const LiveId id = job.id;
  if (job.end) return conflict(fmt::format("job {} is finished", id));
  if (change == Change::kCancel) {
    inputs.push_back(CancelInput{id, caller.user});
    return ChangedJob{id, job.lease ? "stopping" : "cancelled"};
  }
  if (job.cancelled) return conflict(fmt::format("job {} is being cancelled", id));
  if (change == Change::kHold) {
    if (job.held) return conflict(fmt::format("job {} is already held", id));
    inputs.push_back(HoldInput{id});
    return ChangedJob{id, job.lease ? "stopping" : "held"};
  }
  if (!job.held) return conflict(fmt::format("job {} is not held", id));
  inputs.push_back(ReleaseInput{id});
  return ChangedJob{id, job.lease ? "stopping" : "queued"};
}

JobCommands::Outcome JobCommands::change(const Caller& caller, const std::string& text,
                                         Change change, Inputs& inputs) {
  if (text.ends_with(kWholeArray)) return change_array(caller, text, change, inputs);
  // A prefix is not enough to change a job, because it may match another one.
  const Result<FoundJob> found = find_job(context_, caller, text, Match::kWhole);
  if (!found.ok()) return found.error();
  const LiveId id = found.value().id;
  if (const MaybeError refusal = check_may_change(caller, id, found.value().owner())) {
    return *refusal;
  }
  const LiveJob* job = context_.roster->find(id);
  if (job == nullptr) return conflict(fmt::format("job {} is finished", id));
  Result<ChangedJob> changed = change_job(caller, *job, change, inputs);
  if (!changed.ok()) return changed.error();
  return CommandOutcome{
      ChangedJobs{{std::move(changed).value()}, job->array, false, job->user, job->uid}};
}

// Changes every job of "12_*" for which the change is valid.
JobCommands::Outcome JobCommands::change_array(const Caller& caller, const std::string& text,
                                               Change change, Inputs& inputs) {
  const Result<std::int64_t> number =
      parse_int(std::string_view(text).substr(0, text.size() - kWholeArray.size()));
  const LiveId array = number.ok() ? static_cast<LiveId>(number.value()) : 0;
  ChangedJobs changed{{}, array, true, "", kNoUid};
  Error error{"no array with active jobs: " + text, ErrorCode::kNotFound};
  const auto& jobs = context_.roster->jobs();
  for (auto at = jobs.lower_bound(array); array != 0 && at != jobs.end(); ++at) {
    const LiveJob& job = at->second;
    if (job.array != array || job.end || !may_see(caller, owner_of(job))) continue;
    if (MaybeError refusal = check_may_change(caller, job.id, owner_of(job))) {
      error = *std::move(refusal);
      continue;
    }
    Result<ChangedJob> one = change_job(caller, job, change, inputs);
    if (one.ok()) {
      changed.owner = job.user;
      changed.owner_uid = job.uid;
      changed.jobs.push_back(std::move(one).value());
    } else {
      error = one.error();
    }
  }
  if (changed.jobs.empty()) return error;
  return CommandOutcome{std::move(changed)};
}

JobCommands::Outcome JobCommands::on(const Caller& caller, const DrainNode& call, Inputs& inputs) {
  DrainInput input{call.node, false};
  if (call.until) {
    const LiveClock& clock = context_.clock;
    const std::int64_t left = *call.until - clock.unix_us(clock.now()) / 1'000'000;
    if (left <= 0 || left > kLongestMaintenance) {
      return Error{"until: must be in the future, at most 365 days", ErrorCode::kInvalid};
    }
    input.until = Instant::micros(*call.until * 1'000'000 - clock.unix_us(Instant()));
  }
  return change_node(caller, input, call.until, inputs);
}

JobCommands::Outcome JobCommands::on(const Caller& caller, const UndrainNode& call,
                                     Inputs& inputs) {
  return change_node(caller, {call.node, true}, std::nullopt, inputs);
}

JobCommands::Outcome JobCommands::change_node(const Caller& caller, const DrainInput& input,
                                              std::optional<std::int64_t> until, Inputs& inputs) {
  const std::string& node = input.node;
  if (!caller.is_operator) return Error{"only operators can drain nodes", ErrorCode::kForbidden};
  if (!context_.roster->find_node(node)) {
    std::vector<std::string_view> known;
    for (const Node& each : context_.roster->settings().topology.nodes()) {
      known.push_back(each.name);
    }
    return Error{"no such node: " + in_quotes(node) + suggestion(node, known),
                 ErrorCode::kNotFound};
  }
  inputs.push_back(input);
  return CommandOutcome{ChangedNode{node, input.open, until}};
}

JobCommands::Outcome JobCommands::on(const Caller& caller, const KeepProfile& call, Inputs&) {
  if (const MaybeError refusal = check_not_viewer(caller)) return *refusal;
  const LiveClock& clock = context_.clock;
  Result<LearnedProfile> kept =
      speeds_.keep(caller.user, call.body, clock.unix_us(clock.now()) / 1'000'000);
  if (!kept.ok()) return kept.error();
  return CommandOutcome{KeptProfile{std::move(kept).value()}};
}

JobCommands::Outcome JobCommands::on(const Caller&, const GiveTicket&, Inputs&) {
  return CommandOutcome{IssuedTicket{}};
}

JobCommands::Outcome JobCommands::on(const Caller& caller, const LogOut&, Inputs&) {
  if (caller.uid == kNoUid) {
    return conflict(in_quotes(caller.user) + " has no account on this machine, and so no tickets");
  }
  return CommandOutcome{LoggedOut{caller.user, journal_.raise_ticket_generation(caller.uid)}};
}

}  // namespace muster
