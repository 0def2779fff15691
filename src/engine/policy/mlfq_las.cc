#include "engine/policy/mlfq_las.h"

#include <algorithm>

namespace muster {

namespace {

// Rank range of one queue: first running jobs, then stopped jobs (latest first), then the rest.
constexpr std::int64_t kQueueSpan = std::int64_t{1} << 40;
constexpr std::int64_t kWaiting = kQueueSpan / 2;

}  // namespace

Rank MlfqLas::rank(const JobFacts& job) const {
  const Turn& turn = turns_[job.id];
  const bool behind = !is_running(job.id) || turn.demoted;
  Rank rank;
  rank.base = queue_of(job.id) * kQueueSpan + (behind ? kWaiting + turn.ahead : 0);
  rank.tie = turn.order;
  return rank;
}

void MlfqLas::submitted(const JobFacts& job) {
  Mlfq::submitted(job);
  if (!turns_.contains(job.id)) turns_.resize(std::size_t{job.id.index()} + 1);
  turns_[job.id] = Turn{};
  turns_[job.id].order = ++counter_;
}

void MlfqLas::started(const JobFacts& job) {
  Mlfq::started(job);
  turns_[job.id].order = ++counter_;
}

void MlfqLas::stopped(const JobFacts& job) {
  Mlfq::stopped(job);
  Turn& turn = turns_[job.id];
  turn.ahead = turn.demoted ? 0 : -plans_;
  turn.demoted = false;
}

void MlfqLas::begin_review() {
  // A demoted job that still runs is now ranked among the running jobs of its new queue.
  std::sort(demoted_.begin(), demoted_.end());
  for (const JobId id : demoted_) {
    Turn& turn = turns_[id];
    if (!is_running(id) || !turn.demoted) continue;
    turn.demoted = false;
    turn.order = ++counter_;
  }
  demoted_.clear();
  ++counter_;
}

void MlfqLas::demoted(const JobFacts& job) {
  // All demoted jobs of a review get the same order; then the older job goes first.
  turns_[job.id] = {/*demoted=*/true, /*ahead=*/0, /*order=*/counter_};
  demoted_.push_back(job.id);
}

void MlfqLas::promoted(JobId job) {
  turns_[job].ahead = 0;
  turns_[job].order = ++counter_;
}

void MlfqLas::reviewed(Instant now, std::vector<JobId>& moved) {
  ++plans_;
  Mlfq::reviewed(now, moved);
}

}  // namespace muster
