#pragma once

// The mutable state of the engine: the ledger, the jobs and their leases. The Engine owns it, and a
// copy is a snapshot. Planners read it through a View and change it through a Draft.

#include <map>
#include <vector>

#include "base/types/id.h"
#include "engine/core/cluster.h"
#include "engine/core/estimator.h"
#include "engine/core/job.h"
#include "engine/core/resource_ledger.h"

namespace muster {

struct State {
  State(const Cluster& facts, Pooling pooling, EstimateSource::Kind estimates)
      : cluster(&facts), estimator(estimates), ledger(facts.topology(), pooling) {}

  const Cluster* cluster;
  Estimator estimator;
  ResourceLedger ledger;  // As planned: resources of a stopping lease already count as free.
  IdVector<JobId, Job> jobs;
  std::vector<Lease> leases;         // Rows are reused; (job, epoch) is not.
  std::vector<std::int32_t> unused;  // Free rows of `leases`.
  std::vector<JobId> placed;  // Jobs in state kPlaced. The order is arbitrary but deterministic.
  IdVector<NodeId, std::vector<std::int32_t>> stopping;  // Stopping leases on each node.
  std::size_t waiting = 0;
  // As planned, like the ledger. Rows are reused.
  std::vector<GpuSharingGroup> sharing_groups;
  std::vector<std::int32_t> unused_sharing_groups;
  std::vector<JobId> reseated;  // Jobs whose GPU-sharing group changed; the engine emits kShare.
  // `closed`: nodes that accept no new leases. `taken`: what external jobs use, for nodes that have
  // any. `blocked`: what the ledger withholds from all jobs because of both.
  IdVector<NodeId, std::uint8_t> closed;
  std::size_t closed_count = 0;
  std::map<NodeId, Resources> taken;
  IdVector<NodeId, Share> blocked;
  // Nodes on which the last attempt of a job failed, and which the next attempt should avoid. Only
  // for jobs that can run without them. This is a preference: planners respect it when they place
  // the job, and no job is stopped for it.
  struct Avoidance {
    std::vector<NodeId> nodes;  // Ascending.
    Instant until;              // End of the avoidance while the job waits.
  };
  std::map<JobId, Avoidance> avoided;

  // Returns the node under which `stopping` lists a lease: always node 0 if resources are pooled.
  NodeId yard(NodeId node) const { return ledger.pooled() ? NodeId(0) : node; }
  const GpuSharingGroup* sharing_group(JobId job) const {
    const std::int32_t row = jobs[job].sharing_group;
    return row == kNoRow ? nullptr : &sharing_groups[static_cast<std::size_t>(row)];
  }
  // Returns the lease of the job if it is kPromised (other leases still stop on its GPUs), else
  // nullptr.
  const Lease* promised(JobId job) const {
    const std::int32_t row = jobs[job].lease;
    if (row == kNoRow) return nullptr;
    const Lease& lease = leases[static_cast<std::size_t>(row)];
    return lease.state == Lease::State::kPromised ? &lease : nullptr;
  }
  // Neither changes the ledger. leave_sharing_group() returns whether other jobs keep the GPUs. A
  // group of one job is dissolved.
  void enter_sharing_group(JobId job, JobId host, SharingMode manner);
  bool leave_sharing_group(JobId job);
  // add_lease() returns the row of a new lease. release_lease() makes a row unused.
  std::int32_t add_lease(JobId job, Placement placement);
  void release_lease(std::int32_t row);
  // Whether the ledger counts the GPUs under this job: it is the first of its group, or has no
  // group.
  bool is_first_holder(JobId job) const;

  // For the Draft. give() immediately blocks GPUs that become free on a closed node, or that
  // external jobs still lack. take() can take such GPUs again.
  void give(const Share& share);
  void take(const Share& share);
  // Whether the job may have `placement`, on free GPUs and on blocked GPUs of its own lease.
  bool can_stay(const Job& job, const Placement& placement) const;

  // Updates the lazy counters of a job to `now`.
  void settle(Job& job, Instant now);

  // CHECKs that the ledger matches the leases. O(jobs + nodes); for tests.
  void check_invariants() const;

 private:
  void check_sharing_groups() const;
};

}  // namespace muster
