#pragma once

// Read-only views of the state for planners and policies, as of a given time. state.cc defines both
// types next to State::settle(), which counts in the same way.

#include <algorithm>
#include <optional>
#include <span>

#include "engine/core/state.h"

namespace muster {

// Data about a job for policies, as of `now`.
struct JobFacts {
  JobId id;
  Instant now;
  Instant submitted;
  Instant last_ran;  // `now` if it runs; the submission time if it never ran.
  std::int32_t gpus = 0;
  Duration estimate;  // Estimated total work at the reference share.
  Duration work_done;
  std::int64_t gpu_us = 0;  // GPU time held so far.
  const Resources* cluster_total = nullptr;

  // CPU and memory time until State::settle() was last called, and the resources held since then
  // (nullptr: none). cpu_milli_ms() and mem_mib_ms() compute the sums, because few policies need
  // them.
  std::int64_t settled_cpu_milli_ms = 0;
  std::int64_t settled_mem_mib_ms = 0;
  const Resources* held = nullptr;
  Duration held_for;

  // CPU and memory time held so far.
  std::int64_t cpu_milli_ms() const;
  std::int64_t mem_mib_ms() const;

  // Returns the largest of its time-weighted shares of GPUs, CPUs and memory, in microseconds.
  double dominant_share_us() const;

  // Estimated remaining work. At least one microsecond, also for a job that exceeds its estimate.
  // It never grows unless the estimate is revised.
  Duration remaining() const { return std::max(estimate - work_done, Duration::micros(1)); }
};

// Read-only access to the state for planners. Must not outlive it.
class View {
 public:
  View(const State& state, Instant now) : state_(&state), now_(now) {}

  Instant now() const { return now_; }
  const Cluster& cluster() const { return *state_->cluster; }
  const ResourceLedger& ledger() const { return state_->ledger; }
  const JobSpec& spec(JobId job) const { return state_->jobs[job].spec; }
  std::span<const NodeId> avoided(JobId job) const {
    const auto found = state_->avoided.find(job);
    return found == state_->avoided.end() ? std::span<const NodeId>()
                                          : std::span<const NodeId>(found->second.nodes);
  }
  // GPUs that no job may get: of unschedulable nodes, and of nodes that external jobs use.
  SlotMask blocked(NodeId node) const { return state_->blocked[node].slots; }
  bool any_closed() const { return state_->closed_count > 0; }
  bool is_closed(NodeId node) const { return state_->closed[node] != 0; }
  bool is_on_closed(JobId job) const {
    if (!any_closed()) return false;
    const Placement& held = placement(job);
    return std::any_of(held.begin(), held.end(),
                       [this](const Share& share) { return is_closed(share.node); });
  }
  std::size_t job_count() const { return state_->jobs.size(); }
  JobState job_state(JobId job) const { return state_->jobs[job].state; }
  bool is_placed(JobId job) const { return state_->jobs[job].state == JobState::kPlaced; }
  std::span<const JobId> placed() const { return state_->placed; }
  std::size_t waiting_count() const { return state_->waiting; }
  const Placement& placement(JobId job) const {
    return state_->leases[static_cast<std::size_t>(state_->jobs[job].lease)].placement;
  }
  double speed(JobId job) const {
    return state_->leases[static_cast<std::size_t>(state_->jobs[job].lease)].speed;
  }
  // The GPU-sharing group of the job, including itself; nullptr if it has none. In a plan, as
  // drafted.
  const GpuSharingGroup* sharing_group(JobId job) const { return state_->sharing_group(job); }
  // Work that a placed job would lose if it ended now; nullopt if it has not reported a checkpoint.
  std::optional<Duration> unsaved(JobId job) const;
  // Time since which a placed job has held its GPUs or has been promised them.
  Instant held_since(JobId job) const {
    return state_->leases[static_cast<std::size_t>(state_->jobs[job].lease)].ordered;
  }
  Duration estimate(JobId job) const { return state_->jobs[job].estimate; }
  // Estimated remaining work. Unlike JobFacts::remaining(), it takes into account
  // that a job which exceeds its estimate still runs.
  Duration expected_remaining(JobId job) const;
  JobFacts facts(JobId job) const;

 private:
  const State* state_;
  Instant now_;
};

}  // namespace muster
