#pragma once

// The only mutable truth: the books, the jobs and their leases. Owned by the Engine; copying it is
// a snapshot. Planners see it through a View and change it through a Draft.

#include <map>
#include <vector>

#include "base/types/id.h"
#include "engine/core/books.h"
#include "engine/core/cluster.h"
#include "engine/core/job.h"

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

  // The node under which stopping leases are listed: always the first if CPU and memory are pooled.
  NodeId yard(NodeId node) const { return books.pooled() ? NodeId(0) : node; }
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
  // Returns the row of a new lease. release_lease() returns its row to the unused ones.
  std::int32_t add_lease(JobId job, Placement placement);
  void release_lease(std::int32_t row);
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

}  // namespace muster
