// Records data for the reports: GPU time, free GPUs, spans, the timeline, waiting.

#include <bit>

#include "base/types/check.h"
#include "base/types/saturate.h"
#include "sim/run/simulation.h"

namespace muster {

// Each job that shares GPUs counts a part of them.
void Simulation::count_gpu_time(Run& run) {
  const Duration held = now_ - run.counted_until;
  std::int64_t& sum = result_.jobs[run.trace_index].gpu_us;
  sum = saturating_add(sum, saturating_multiply(held.us(), run.gpus) / run.sharers);
  run.counted_until = now_;
}

// One job more (or less, if sign is -1) holds these GPUs from now on.
void Simulation::occupy(const Run& run, std::int32_t sign) {
  if (!sharing_) return note_free(-sign * run.gpus);
  std::int32_t freed = 0;
  for (const Share& share : run.held) {
    for (SlotMask left = share.slots; left != 0; left &= left - 1) {
      std::int32_t& holders =
          holders_[share.node][static_cast<std::size_t>(std::countr_zero(left))];
      const std::int32_t before = holders;
      holders += sign;
      freed += (holders == 0 ? 1 : 0) - (before == 0 ? 1 : 0);
    }
  }
  note_free(freed);
}

void Simulation::note_free(std::int32_t more) {
  const std::int64_t busy = cluster_.topology().total().gpus - free_gpus_;
  result_.gpu_us =
      saturating_add(result_.gpu_us, saturating_multiply((now_ - free_since_).us(), busy));
  free_since_ = now_;
  free_gpus_ += more;
  if (result_.free.empty() || result_.free.back().at != now_) result_.free.push_back({now_, 0});
  result_.free.back().free = free_gpus_;
}

void Simulation::open_spans(JobId job) {
  if (!options_.history) return;
  Run& run = run_of(job);
  run.held = engine_.lease(job).in_force();
  run.speed = engine_.lease(job).speed;
  run.span_begin = now_;
}

void Simulation::close_spans(JobId job, SpanEnd ended) {
  if (!options_.history) return;
  const Run& run = run_of(job);
  if (now_ == run.span_begin && ended == SpanEnd::kChanged) return;
  const std::optional<Reason> reason =
      ended == SpanEnd::kFailed ? outcome_of(job).last_failure : std::nullopt;
  for (const Share& share : run.held) {
    result_.spans.push_back({JobId(run.trace_index), share.node, share.slots, share.cpu_milli,
                             share.mem_mib, run.speed, run.span_begin, now_, ended, reason});
  }
}

void Simulation::note_timeline() {
  const State& state = engine_.state();
  TimelinePoint point;
  point.at = now_;
  Resources used;
  for (const JobId job : state.placed) {
    const Lease& lease = engine_.lease(job);
    if (state.is_first_holder(job)) used += lease.total;
    if (lease.state != Lease::State::kRunning) continue;
    point.speed += sharing_ ? run_of(job).true_speed : lease.speed;
  }
  point.busy_gpus = used.gpus;
  point.cpu_milli = used.cpu_milli;
  point.mem_mib = used.mem_mib;
  point.running = static_cast<std::int32_t>(state.placed.size());
  point.waiting = static_cast<std::int32_t>(state.waiting);
  result_.timeline.push_back(point);
}

// The planner does not count all waiting time. The rest is the time between a promise and its
// start.
void Simulation::note_waiting(JobId job) {
  JobOutcome& outcome = outcome_of(job);
  outcome.waiting = engine_.waited(job, now_);
  outcome.waiting -= run_of(job).saving;
  if (!outcome.has_ended()) return;
  Duration unexplained = outcome.wait();
  for (const Duration part : outcome.waiting.by_cause) unexplained -= part;
  MUSTER_CHECK(unexplained >= Duration());
  // For a job that failed, the rest is the time until it may be retried.
  outcome.waiting[outcome.failures > 0 ? WaitCause::kBackoff : WaitCause::kOrder] += unexplained;
}

}  // namespace muster
