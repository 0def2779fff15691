#pragma once

// The only mutable truth: the books, the jobs and their leases. Owned by the Engine; copying it is
// a snapshot. Planners see it through a View and change it through a Draft.

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "core/books.h"
#include "core/cluster.h"
#include "core/job.h"

namespace muster {

struct State {
  State(const Cluster& facts, Pooling pooling)
      : cluster(&facts), books(facts.topology(), pooling) {}

  const Cluster* cluster;
  Books books;  // As planned: what a stopping lease holds counts as free already.
  IdVector<JobId, Job> jobs;
  std::vector<Lease> leases;         // Rows are reused; (job, epoch) is not.
  std::vector<std::int32_t> unused;  // Free rows of `leases`.
  std::vector<JobId> placed;         // Jobs in state kPlaced, in no particular but a fixed order.
  IdVector<NodeId, std::vector<std::int32_t>> stopping;  // Stopping leases on each node.
  std::size_t waiting = 0;
  // As planned, like the books. Rows are reused.
  std::vector<Berth> berths;
  std::vector<std::int32_t> unused_berths;
  std::vector<JobId> reseated;  // Jobs whose company in a berth changed; the engine tells of them.
  // Servers that take no new leases; what strangers hold, of those where they do; and of both what
  // the books keep from everybody for it.
  IdVector<NodeId, std::uint8_t> closed;
  std::size_t closed_count = 0;
  std::map<NodeId, Resources> taken;
  IdVector<NodeId, Share> blocked;
  // Servers on which a job's last attempt failed and that the next is to be kept off. Only of jobs
  // that could run without them, and no more than a wish: a planner heeds it where it looks for a
  // place, and nobody is stopped for it.
  struct Avoidance {
    std::vector<NodeId> servers;  // Ascending.
    Instant until;                // While it waits: then anything will do.
  };
  std::map<JobId, Avoidance> avoided;

  const Berth* berth(JobId job) const {
    const std::int32_t row = jobs[job].berth;
    return row == kNoRow ? nullptr : &berths[static_cast<std::size_t>(row)];
  }
  // The lease whose GPUs are chosen while others still give them up; null: it has none such.
  const Lease* promised(JobId job) const {
    const std::int32_t row = jobs[job].lease;
    if (row == kNoRow) return nullptr;
    const Lease& lease = leases[static_cast<std::size_t>(row)];
    return lease.state == Lease::State::kPromised ? &lease : nullptr;
  }
  // Both leave the books alone. leave_berth() says whether others keep the GPUs; a berth of one is
  // none.
  void enter_berth(JobId job, JobId host, Together manner);
  bool leave_berth(JobId job);
  bool is_first_holder(JobId job) const;  // Of its GPUs: the one who has them for all that share.

  // In a plan. What is given back on a closed server, or where strangers lack it, is blocked at
  // once; whoever had it may take it again.
  void give(const Share& share);
  void take(const Share& share);
  // Whether a job may have this, on GPUs that it has a lease of and others that are free.
  bool can_stay(const Job& job, const Placement& placement) const;

  // Brings a job's lazy counters up to now.
  void settle(Job& job, Instant now);

  // CHECKs that the books are what the leases imply. Linear; for tests.
  void check_invariants() const;

 private:
  void check_berths() const;
};

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
