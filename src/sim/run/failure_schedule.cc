#include "sim/run/failure_schedule.h"

#include <algorithm>

namespace muster {

namespace {

bool later_change(const FailureSchedule::Change& a, const FailureSchedule::Change& b) {
  return a.at != b.at ? a.at > b.at : a.node > b.node;
}

bool later_trial(const FailureSchedule::Trial& a, const FailureSchedule::Trial& b) {
  return a.at != b.at ? a.at > b.at : a.job > b.job;
}

}  // namespace

FailureSchedule::FailureSchedule(const FailureOptions& options, std::uint64_t seed,
                                 std::size_t nodes)
    : options_(options),
      faults_(options.faults, seed),
      nodes_(options.nodes, seed),
      pool_free_(static_cast<std::size_t>(std::max(options.pool_gpus, 1))) {
  for (std::size_t i = 0; i < nodes; ++i) {
    if (const std::optional<Outage> first = nodes_.outage(NodeId(i), 0)) {
      push_change({Instant() + first->after, NodeId(i), true, 0});
    }
  }
}

void FailureSchedule::push_change(const Change& change) {
  changes_.push_back(change);
  std::push_heap(changes_.begin(), changes_.end(), later_change);
}

std::optional<InjectedFailure> FailureSchedule::trouble(std::size_t job, std::int32_t gpus,
                                                        std::int32_t failed,
                                                        Duration planned) const {
  if (options_.faults.rate <= 0) return std::nullopt;
  return faults_.trouble(JobId(job), gpus, failed, planned);
}

Duration FailureSchedule::run_time(std::size_t job, std::int32_t gpus, Duration planned) const {
  if (options_.faults.rate <= 0) return planned;
  return faults_.run_time(JobId(job), gpus, planned);
}

bool FailureSchedule::is_killed(std::size_t job, std::int32_t gpus, Duration planned) const {
  return options_.faults.rate > 0 && faults_.is_killed(JobId(job), gpus, planned);
}

FailureSchedule::Change FailureSchedule::pop_change() {
  std::pop_heap(changes_.begin(), changes_.end(), later_change);
  const Change change = changes_.back();
  changes_.pop_back();
  // After an outage the node comes back, and then its next outage is scheduled.
  const Outage outage =
      *nodes_.outage(change.node, change.down ? change.outage : change.outage + 1);
  if (change.down) {
    push_change({change.at + outage.lasts, change.node, false, change.outage});
  } else {
    push_change({change.at + outage.after, change.node, true, change.outage + 1});
  }
  return change;
}

bool FailureSchedule::enter_pool(std::size_t job, std::int32_t gpus, Duration planned,
                                 Instant now) {
  if (!options_.pre_run) return false;
  const std::optional<InjectedFailure> ahead = trouble(job, gpus, 0, planned);
  const PreRun run = pre_run(gpus, ahead, run_time(job, gpus, planned), options_.trial);
  if (run.takes == Duration()) return false;
  const auto soonest = std::min_element(pool_free_.begin(), pool_free_.end());
  *soonest = std::max(*soonest, now) + run.takes;
  trials_.push_back(
      {*soonest, job, run.takes, run.caught, run.caught ? ahead->reason : Reason::kNoSignature});
  std::push_heap(trials_.begin(), trials_.end(), later_trial);
  return true;
}

FailureSchedule::Trial FailureSchedule::pop_trial() {
  std::pop_heap(trials_.begin(), trials_.end(), later_trial);
  const Trial trial = trials_.back();
  trials_.pop_back();
  return trial;
}

}  // namespace muster
