#pragma once

// The state as planners and policies see it: constant, and brought up to a given time. state.cc
// defines both types, next to State::settle(), which counts in the same way.

#include <algorithm>
#include <optional>
#include <span>

#include "engine/core/state.h"

namespace muster {

// What a policy may know of a job, brought up to now.
struct JobFacts {
  JobId id;
  Instant now;
  Instant submitted;
  Instant last_ran;  // Now, if it runs; when it was submitted, if it never did.
  std::int32_t gpus = 0;
  Duration estimate;  // Total work believed, at the reference share.
  Duration work_done;
  std::int64_t gpu_us = 0;        // GPU time held so far.
  std::int64_t cpu_milli_ms = 0;  // CPU and memory time held so far.
  std::int64_t mem_mib_ms = 0;
  const Resources* cluster_total = nullptr;

  // The largest of its time-shares of the cluster's GPUs, CPUs and memory, in microseconds.
  double dominant_share_us() const;

  // Work believed left. A job that outlives its estimate is believed to end any moment, so that
  // this only ever falls, unless the estimate is revised.
  Duration remaining() const { return std::max(estimate - work_done, Duration::micros(1)); }
};

// The const window through which planners see the state.
class View {
 public:
  View(const State& state, Instant now) : state_(&state), now_(now) {}

  Instant now() const { return now_; }
  const Cluster& cluster() const { return *state_->cluster; }
  const Books& books() const { return state_->books; }
  const JobSpec& spec(JobId job) const { return state_->jobs[job].spec; }
  std::span<const NodeId> avoided(JobId job) const {
    const auto found = state_->avoided.find(job);
    return found == state_->avoided.end() ? std::span<const NodeId>()
                                          : std::span<const NodeId>(found->second.servers);
  }
  // Of servers that take no leases, and of those that strangers have a part of.
  SlotMask blocked(NodeId node) const { return state_->blocked[node].slots; }
  bool is_on_closed(JobId job) const {
    if (state_->closed_count == 0) return false;
    const Placement& held = placement(job);
    return std::any_of(held.begin(), held.end(),
                       [this](const Share& share) { return state_->closed[share.node] != 0; });
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
  // With whom it holds its GPUs, itself included; nullptr when alone. In a plan, as pencilled.
  const Berth* berth(JobId job) const { return state_->berth(job); }
  // Work of a placed job that would be lost if it ended now, where it said when it saved.
  std::optional<Duration> unsaved(JobId job) const;
  // Since when a placed job has held its GPUs, or has been promised them.
  Instant held_since(JobId job) const {
    return state_->leases[static_cast<std::size_t>(state_->jobs[job].lease)].ordered;
  }
  Duration estimate(JobId job) const { return state_->jobs[job].estimate; }
  JobFacts facts(JobId job) const;

 private:
  const State* state_;
  Instant now_;
};

}  // namespace muster
