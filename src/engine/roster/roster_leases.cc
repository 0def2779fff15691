// The roster's leases: carries out the engine's actions and handles the outcomes of leases.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "base/types/check.h"
#include "engine/roster/roster.h"

namespace muster {

namespace {

constexpr std::int32_t kMaxLosses = 3;
constexpr const char* kLostAgain = "its processes were lost repeatedly";
constexpr const char* kLostOnce = "its node was lost, and on_lost is 'fail'";
constexpr const char* kPreempted = "preempted";
constexpr std::size_t kMaxKnown = 2'000;
constexpr std::string_view kOomKill = "scheduler-oom-kill";  // See exec/diagnose/classifier.cc.

// Counts a loss. Returns why there is no further attempt, or nullptr if there is one.
const char* why_no_more(LiveJob& job) {
  if (++job.losses > kMaxLosses) return kLostAgain;
  return job.request.on_lost.fails() && !job.withdrawn ? kLostOnce : nullptr;
}

}  // namespace

Duration time_left(const LiveJob& job, bool trial) {
  if (trial) return job.request.prerun;
  if (job.request.time_limit == Duration()) return Duration();
  return std::max(job.request.time_limit - job.ran, Duration::micros(1000));
}

void Roster::carry_out(const Action& action) {
  if (action.kind == Action::Kind::kWakeAt) {
    wake_ = action.at;
    return;
  }
  const auto found = jobs_.find(live_of_[action.job.index()]);
  if (found == jobs_.end() || found->second.row != action.job) return;
  LiveJob& job = found->second;
  const std::uint32_t number = job.lease_base + action.epoch;
  switch (action.kind) {
    case Action::Kind::kStart:
      return start(job, action);
    case Action::Kind::kStop:
      if (!job.lease || job.lease->number != number || job.lease->stopping) return;
      job.lease->stopping = true;
      orders_.push_back({Order::Kind::kStop, job.id, number, {}, job.lease->trial, Duration()});
      if (!job.withdrawn) tell_stop(job);
      touch(job.id);
      return;
    case Action::Kind::kResize:
      if (job.lease && job.lease->number == number) resize(job, action.job);
      return;
    case Action::Kind::kReject:
      return finish(job, LiveState::kRejected, engine_->why_rejected(action.job));
    case Action::Kind::kGiveUp:
      return finish(job, LiveState::kFailed, job.why);  // tell() has set job.why.
    case Action::Kind::kWakeAt:
    case Action::Kind::kShare:
      return;
  }
}

void Roster::resize(LiveJob& job, JobId row) {
  LiveLease& lease = *job.lease;
  const Resources before = total_of(lease.placement);
  lease.placement = engine_->lease(row).in_force();
  const Resources has = total_of(lease.placement);
  orders_.push_back(
      {Order::Kind::kResize, job.id, lease.number, lease.placement, lease.trial, Duration()});
  std::string words = fmt::format("now has {:g} CPU{}", static_cast<double>(has.cpu_milli) / 1000,
                                  has.cpu_milli == 1000 ? "" : "s");
  if (has.mem_mib != before.mem_mib) {
    words += fmt::format(" and {:.3g} GiB", static_cast<double>(has.mem_mib) / 1024);
  }
  note(job, "resized", std::move(words));
}

void Roster::start(LiveJob& job, const Action& action) {
  const std::uint32_t number = job.lease_base + action.epoch;
  if (job.lease) {  // Restored: its lease already runs.
    MUSTER_CHECK(job.lease->number == number);
    return;
  }
  const Placement& placement = engine_->lease(action.job).in_force();
  LiveLease lease;
  lease.number = number;
  lease.placement = placement;
  lease.trial = job.wants_trial();
  lease.since = now_;
  Order order{Order::Kind::kStart, job.id, number, placement, lease.trial, Duration()};
  order.time_limit = time_left(job, lease.trial);
  job.leases_used = number;
  job.lease = std::move(lease);
  orders_.push_back(std::move(order));
  tell_start(job, placement);
}

void Roster::apply(const LeaseUpInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end()) return;
  LiveJob& job = found->second;
  if (!job.lease || job.lease->number != input.lease || job.lease->up) return;
  job.lease->up = true;
  job.lease->up_since = now_;
  job.lease->isolation = input.isolation;
  job.lease->says.clear();
  if (!job.started && !job.lease->trial) job.started = now_;
  note(job, "started",
       (job.lease->trial ? "pre-run on " : "runs on ") + where(job.lease->placement));
  if (job.row) events_.push_back(LeaseStarted{*job.row, input.lease - job.lease_base});
}

void Roster::apply(const SavedInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end()) return;
  const LiveJob& job = found->second;
  if (!job.lease || job.lease->number != input.lease || !job.row) return;
  events_.push_back(JobSaved{*job.row, input.lease - job.lease_base});
}

void Roster::apply(const ProfiledInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end() || found->second.end) return;
  note(found->second, input.kind.c_str(), brief(input.words));
}

void Roster::apply(const LeaseNoteInput& input) {
  if (knows(input)) return;
  LiveJob& job = jobs_.at(input.id);
  job.lease->says = input.words;
  if (!input.words.empty()) note(job, "lease-note", brief(input.words));
}

void Roster::apply(const LeaseOverInput& input) {
  const auto found = jobs_.find(input.id);
  if (found == jobs_.end()) return;
  LiveJob& job = found->second;
  if (!job.lease || job.lease->number != input.lease) return;
  MUSTER_CHECK(job.row);
  LiveLease lease = std::move(*job.lease);
  job.lease.reset();
  Duration ran;
  if (input.ran_ms >= 0) {
    // The manager may have been down meanwhile, so its own clock is not sufficient.
    ran = Duration::micros(input.ran_ms * 1000);
  } else if (lease.up) {
    ran = now_ - lease.up_since;
  }
  if (!lease.trial) job.ran += ran;
  if (input.fate != LeaseResult::kLost) job.losses = 0;
  LeaseOverInput end = input;
  job.failed_by.reset();
  job.proof = {};
  if (input.fate == LeaseResult::kFailed) {
    job.failed_by = find_reason(input.reason).value_or(Reason::kNoSignature);
    job.proof = input.proof;
    if (input.proof.signature == kOomKill) end.words = over_memory(lease.placement);
  }
  // The shim does not know who requested the stop. A withdrawn job was held or cancelled.
  if (input.fate == LeaseResult::kStopped && lease.stopping && !job.withdrawn) {
    end.words = kPreempted;
  }
  const bool trial = lease.trial;
  over_.push_back({job.id, std::move(lease), end});
  digest_.add(job.id << 32 | std::uint64_t{input.lease} << 8 |
              static_cast<std::uint64_t>(input.fate));
  touch(job.id);
  trial ? end_trial(job, end) : end_lease(job, end, ran);
}

// Ends the job with its lease, independent of the engine's retry decision.
void Roster::give_up_lease(LiveJob& job, Epoch epoch, LiveState end, const std::string& why) {
  events_.push_back(JobCancelled{*job.row});
  events_.push_back(LeaseEnded{*job.row, epoch, LeaseOutcome::kStopped});
  finish(job, end, why);
}

void Roster::end_trial(LiveJob& job, const LeaseOverInput& input) {
  const JobId row = *job.row;
  const Epoch epoch = input.lease - job.lease_base;
  const bool passed = input.fate == LeaseResult::kFinished || input.fate == LeaseResult::kTimeLimit;
  if (input.fate == LeaseResult::kLost) {
    const char* const why = why_no_more(job);
    if (why != nullptr && !job.cancelled) {
      return give_up_lease(job, epoch, LiveState::kFailed, why);
    }
  }
  if (input.fate == LeaseResult::kFailed && !job.cancelled) {
    note(job, "failed-attempt", brief(input.words));
    return give_up_lease(job, epoch, LiveState::kFailed, brief("pre-run: " + input.words));
  }
  // It waits for another pre-run.
  if (input.fate == LeaseResult::kLost && !job.withdrawn) return lose_lease(job, epoch);
  events_.push_back(
      LeaseEnded{row, epoch, passed ? LeaseOutcome::kCompleted : LeaseOutcome::kStopped});
  if (!passed && !job.withdrawn) return begin_wait(job);
  job.tried = job.tried || passed;
  leave(job);
  job.past.reset();  // The work of the pre-run does not count.
  if (passed) note(job, "tried", "the pre-run succeeded");
  come_back(job);
}

void Roster::end_lease(LiveJob& job, const LeaseOverInput& input, Duration ran) {
  const JobId row = *job.row;
  const Epoch epoch = input.lease - job.lease_base;
  const auto stopped = [&] { events_.push_back(LeaseEnded{row, epoch, LeaseOutcome::kStopped}); };
  switch (input.fate) {
    case LeaseResult::kFinished:
      events_.push_back(LeaseEnded{row, epoch, LeaseOutcome::kCompleted});
      remember(job);
      return finish(job, LiveState::kDone, input.words);
    case LeaseResult::kTimeLimit:
      return give_up_lease(
          job, epoch, LiveState::kFailed,
          fmt::format("time limit of {} reached", short_duration(job.request.time_limit)));
    case LeaseResult::kStopped:
    case LeaseResult::kLost:
      break;
    case LeaseResult::kFailed:
      if (job.withdrawn) break;
      job.why = input.words;
      note(job, "failed-attempt", brief(input.words));
      events_.push_back(AttemptFailed{row, epoch, *job.failed_by, ran, input.proof.told});
      return;
  }
  if (job.withdrawn) {  // It may have been released again meanwhile.
    stopped();
    leave(job);
    return come_back(job);
  }
  if (input.fate == LeaseResult::kLost) {
    const char* const why = why_no_more(job);
    if (why != nullptr) return give_up_lease(job, epoch, LiveState::kFailed, why);
    return lose_lease(job, epoch);
  }
  note(job, "preempted", fmt::format("stopped after running {}; waiting again", rough(ran)));
  begin_wait(job);
  stopped();
}

// Keeps a sample for the estimates of a later engine.
void Roster::remember(const LiveJob& job) {
  const View view(engine_->state(), now_);
  known_.push_back({job.user, job.tenant, job.request.name, view.spec(*job.row).gpus,
                    view.facts(*job.row).work_done, job.submitted});
  if (known_.size() > kMaxKnown) known_.pop_front();
}

}  // namespace muster
