#include "sim/results/waiting_summary.h"

#include <vector>

#include "base/types/saturate.h"

namespace muster {

namespace {

// Times also come from files, and each may be 100 years long.
Duration together(Duration a, Duration b) {
  return Duration::micros(saturating_add(a.us(), b.us()));
}

OvertakingResult overtaking_of(const SimResult& result) {
  std::vector<QueuedJob> line;
  line.reserve(result.jobs.size());
  for (const JobOutcome& job : result.jobs) {
    QueuedJob place;
    place.tenant = job.tenant;
    place.gpus = job.gpus < 1 ? 1 : job.gpus;
    // A job that failed in its pre-run, or was rejected, never waited in the queue.
    const bool was_queued = job.queued != Instant::never() && job.fate != JobResult::kRejected;
    place.submit = was_queued ? job.queued : job.submit;
    place.start = job.start;
    place.end = was_queued ? job.first_end : place.submit;
    line.push_back(place);
  }
  return find_overtaking(line, result.free);
}

}  // namespace

std::size_t wait_size_of(std::int32_t gpus) {
  if (gpus <= 1) return 0;
  if (gpus <= 4) return 1;
  return gpus <= 8 ? 2 : 3;
}

Duration WaitingOfSize::total() const {
  Duration sum;
  for (const Duration part : by_cause) sum = together(sum, part);
  return sum;
}

double WaitingOfSize::share(WaitCause cause) const {
  const Duration whole = total();
  if (whole == Duration()) return 0;
  return static_cast<double>(by_cause[static_cast<std::size_t>(cause)].us()) /
         static_cast<double>(whole.us());
}

void WaitingOfSize::add(const WaitingOfSize& other) {
  jobs += other.jobs;
  waited += other.waited;
  over_part_on_arrival += other.over_part_on_arrival;
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    by_cause[i] = together(by_cause[i], other.by_cause[i]);
  }
}

WaitingOfSize WaitingSummary::all() const {
  WaitingOfSize sum;
  for (const WaitingOfSize& part : by_size) sum.add(part);
  return sum;
}

WaitingSummary summarize_waiting(const SimResult& result, std::size_t first, std::size_t last) {
  WaitingSummary summary;
  for (std::size_t i = first; i < last; ++i) {
    const JobOutcome& job = result.jobs[i];
    if (job.fate != JobResult::kFinished) continue;
    WaitingOfSize one;
    one.jobs = 1;
    one.by_cause = job.waiting.by_cause;
    if (job.wait() > Duration() && job.run >= kRealRun) {
      one.waited = 1;
      one.over_part_on_arrival = job.waiting.over_part_on_arrival ? 1 : 0;
    }
    summary.by_size[wait_size_of(job.gpus)].add(one);
  }
  summary.overtaking = overtaking_of(result);
  return summary;
}

}  // namespace muster
