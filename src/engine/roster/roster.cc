#include "engine/roster/roster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "base/types/check.h"
#include "engine/model/profile_key.h"
#include "engine/planner/recorded_planner.h"

namespace muster {

namespace {

std::uint32_t intern(std::map<std::string, std::uint32_t>& names, const std::string& name) {
  const auto next = static_cast<std::uint32_t>(names.size());
  return names.emplace(name, next).first->second;
}

}  // namespace

Roster::Roster(RosterSettings settings, Deciding deciding)
    : RosterNotes(std::move(settings)), repeats_(deciding == Deciding::kRepeats) {
  MadePlanner made = make_planner(world_->cluster, world_->settings.planner);
  EngineOptions options = world_->settings.engine;
  options.pooling = made.pooling;
  options.nodes.drain = Duration::max();  // Until it has passed a test.
  const std::optional<TenantTree>& tenants = world_->settings.tenants;
  if (tenants && tenants->leaves() > 1) options.nodes.tenants = 2;
  options.record_plans = true;
  if (repeats_) made.planner = std::make_unique<RecordedPlanner>(made.planner->wants_reports());
  engine_ = std::make_unique<Engine>(world_->cluster, std::move(made.planner), options);
}

void Roster::step(Instant now, std::span<const Input> inputs) {
  MUSTER_CHECK(now >= now_);
  now_ = now;
  forget_ended();
  forget_notes();
  orders_.clear();
  over_.clear();
  decided_.clear();
  if (wake_ <= now && !repeats_) {
    wake_ = Instant::never();
    events_.push_back(TimerFired{});
  }
  end_maintenance();
  for (const Input& input : inputs) {
    std::visit([this](const auto& each) { apply(each); }, input);
  }
  run_engine(repeats_);
  if (misfit_) return;
  tell_waits();
  test_nodes();
  sort_touched();
}

MaybeError Roster::repeat(Instant now, std::span<const Input> inputs,
                          std::span<const Decisions> given) {
  MUSTER_CHECK(repeats_);
  given_ = given;
  step(now, inputs);
  given_ = {};
  return misfit_;
}

std::span<const Action> Roster::step_engine() {
  const std::vector<Event> events = std::exchange(events_, {});
  if (!repeats_) {
    const std::span<const Action> actions = engine_->step(now_, events);
    decided_.push_back(engine_->decisions());
    return actions;
  }
  if (given_.empty()) {
    misfit_ = Error{"it has fewer decisions than its inputs require", ErrorCode::kCorrupt};
    return {};
  }
  const Result<std::span<const Action>> actions = engine_->repeat(now_, events, given_.front());
  given_ = given_.subspan(1);
  if (actions.ok()) return actions.value();
  misfit_ = actions.error();
  return {};
}

void Roster::run_engine(bool without_events) {
  for (bool may_be_empty = without_events;; may_be_empty = false) {
    hold_siblings();  // Before the ended jobs free resources for them.
    // Iteratively, not recursively: chains of dependencies may be long.
    while (told_ < ended_.size()) tell_dependents(ended_[told_++]);
    if (events_.empty() && given_.empty()) return;
    if (events_.empty() && !may_be_empty) {
      misfit_ = Error{"it has more decisions than its inputs require", ErrorCode::kCorrupt};
      return;
    }
    const std::span<const Action> actions = step_engine();
    if (misfit_) return;
    tell_reactions();
    for (const Action& action : actions) carry_out(action);
  }
}

void Roster::forget_ended() {
  for (const LiveId id : std::exchange(ended_, {})) jobs_.erase(id);
  told_ = 0;
}

void Roster::apply(const SubmitInput& input) {
  const auto [place, fresh] = jobs_.emplace(input.id, LiveJob{});
  MUSTER_CHECK(fresh);
  LiveJob& job = place->second;
  job.id = input.id;
  job.user = input.user;
  job.uid = input.uid;
  job.tenant = input.tenant;
  job.request = input.request;
  job.array = input.array;
  job.index = input.index;
  job.submitted = now_;
  job.held = input.request.hold;
  job.tried = input.request.prerun == Duration();
  job.at_once = input.array != 0 ? input.at_once : 0;
  job.in_array_line = job.at_once > 0;
  note(job, "submitted",
       fmt::format("{} requests {} GPU{}{}", job.request.name, job.request.gpus,
                   job.request.gpus == 1 ? "" : "s", job.held ? "; held until released" : ""));
  depend(job);
  if (!job.end) try_enter(job);
  if (!job.end && !job.row && !job.held) tell_blocked(job);
}

void Roster::depend(LiveJob& job) {
  const auto wait_for = [&](LiveId id, bool wants_ok) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || job.end) return;
    if (!found->second.end) {
      dependents_[id].push_back({job.id, wants_ok});
      ++job.waits_for;
    } else if (wants_ok && *found->second.end != LiveState::kDone) {
      finish(job, LiveState::kCancelled, fmt::format("dependency job {} failed", id));
    }
  };
  for (const LiveId id : job.request.after_ok) wait_for(id, true);
  for (const LiveId id : job.request.after_any) wait_for(id, false);
}

void Roster::apply(const CancelInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end() || found->second.end || found->second.cancelled) return;
  cancel(found->second, "cancelled by " + input.by);
}

void Roster::cancel(LiveJob& job, const std::string& why) {
  job.cancelled = true;
  job.why = why;
  if (job.row) withdraw(job);
  if (!job.lease) return finish(job, LiveState::kCancelled, why);
  note(job, "cancelling", why);
}

void Roster::apply(const HoldInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end() || found->second.end) return;
  LiveJob& job = found->second;
  if (job.held || job.cancelled) return;
  job.held = true;
  if (job.in_array_line) std::erase(lines_[job.array].waiting, job.id);
  note(job, "held", job.lease ? "held; its lease is being stopped" : "held");
  if (!job.row) return;
  withdraw(job);
  if (!job.lease) leave(job);
}

void Roster::apply(const ReleaseInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end() || found->second.end) return;
  LiveJob& job = found->second;
  if (!job.held || job.cancelled) return;
  job.held = false;
  job.held_why.clear();
  note(job, "released", "released");
  if (job.row) return;  // Its lease has not ended yet.
  try_enter(job);
  if (!job.row) tell_blocked(job);
}

void Roster::try_enter(LiveJob& job) {
  if (job.end || job.row || job.held || job.cancelled || job.waits_for > 0) return;
  if (job.in_array_line) {
    ArrayLine& line = lines_[job.array];
    if (line.active >= job.at_once) {
      line.waiting.push_back(job.id);
      return;
    }
    ++line.active;
    job.in_array_line = false;
  }
  enter(job);
}

JobSpec Roster::spec_of(const LiveJob& job) {
  const bool trial = job.wants_trial();
  JobSpec spec = spec_of(job.request, job.user, job.tenant, trial);
  spec.user = UserId(intern(users_, job.user));
  // Pre-runs have a separate name, so that their run times do not affect the job's estimate.
  spec.name = NameId(intern(names_, trial ? job.request.name + "/pre-run" : job.request.name));
  return spec;
}

void Roster::enter(LiveJob& job) {
  MUSTER_CHECK(!job.row && !job.lease);
  job.row = JobId(live_of_.size());
  live_of_.push_back(job.id);
  touch(job.id);
  job.waited = WaitSplit();  // A wait before a hold does not count.
  begin_wait(job);
  events_.push_back(as_it_was(job));
}

// Uses the submission time, even if the job enters the engine later. Its order among other jobs
// must not depend on whether this is the first engine that it enters.
JobRestored Roster::as_it_was(const LiveJob& job) {
  JobRestored back;
  back.spec = spec_of(job);
  back.submitted = job.submitted;
  if (!job.past) return back;
  back.work_done = job.past->work_done;
  back.gpu_us = job.past->gpu_us;
  back.cpu_milli_ms = job.past->cpu_milli_ms;
  back.mem_mib_ms = job.past->mem_mib_ms;
  back.failures = job.past->failures;
  if (wants_time_left()) back.estimate = job.past->estimate;
  return back;
}

void Roster::withdraw(LiveJob& job) {
  events_.push_back(JobCancelled{*job.row});
  job.withdrawn = true;
}

// Detaches the job from its engine row. It has no lease and may enter again with a new row.
void Roster::leave(LiveJob& job) {
  MUSTER_CHECK(job.row && !job.lease);
  const JobId row = *std::exchange(job.row, std::nullopt);
  job.withdrawn = false;
  if (!engine_->state().jobs.contains(row)) return;  // Entered and withdrawn in one step.
  const Job& known = engine_->state().jobs[row];
  job.waited += engine_->waited(row, now_);
  job.lease_base += known.epoch;
  job.past = past_of(row);
}

// After leave(): finishes a cancelled job, or enters the engine again if possible.
void Roster::come_back(LiveJob& job) {
  if (job.cancelled) return finish(job, LiveState::kCancelled, job.why);
  try_enter(job);
}

void Roster::free_array_place(const LiveJob& job) {
  if (job.at_once == 0) return;
  ArrayLine& line = lines_[job.array];
  if (job.in_array_line) {
    std::erase(line.waiting, job.id);
  } else {
    --line.active;
  }
  while (line.active < job.at_once && !line.waiting.empty()) {
    LiveJob& next = jobs_.at(line.waiting.front());
    line.waiting.pop_front();
    try_enter(next);
  }
  if (line.active == 0 && line.waiting.empty()) lines_.erase(job.array);
}

void Roster::finish(LiveJob& job, LiveState end, std::string why) {
  MUSTER_CHECK(!job.end && !job.lease);
  job.end = end;
  job.ended = now_;
  job.why = std::move(why);
  job.row.reset();
  digest_.add(job.id << 4 | static_cast<std::uint64_t>(end));
  ended_.push_back(job.id);
  note(job, state_name(end).data(),
       end == LiveState::kDone && job.why.empty()
           ? fmt::format("succeeded after running {} in {} lease{}", rough(job.ran),
                         job.leases_used, job.leases_used == 1 ? "" : "s")
           : job.why);
  if (siblings_.count_end(job)) last_straws_.push_back(job.id);
}

void Roster::tell_dependents(LiveId id) {
  const LiveState end = *jobs_.at(id).end;
  free_array_place(jobs_.at(id));
  const auto found = dependents_.find(id);
  if (found == dependents_.end()) return;
  const std::vector<Dependent> waiting = std::move(found->second);
  dependents_.erase(found);
  for (const Dependent& each : waiting) {
    const auto other = jobs_.find(each.id);
    if (other == jobs_.end() || other->second.end) continue;
    --other->second.waits_for;
    if (each.wants_ok && end != LiveState::kDone) {
      cancel(other->second, fmt::format("dependency job {} failed", id));
    } else {
      try_enter(other->second);
    }
  }
}

}  // namespace muster
