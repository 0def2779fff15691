#pragma once

// Stops jobs to free GPUs for others. A job within its tenant's entitlement may take lent GPUs. An
// overdue job may also take the GPUs of younger jobs of its tenant, or of any younger jobs without
// tenants. A job is overdue if it was the oldest of its group for longer than kPatience and would
// be within its tenant's entitlement without younger jobs. The youngest jobs stop first, whole
// seats at a time, and only if the job starts in the same plan.
//
// If every GPU for jobs of some size has the maximum number of time-sliced jobs, jobs of this size
// take turns: a job that has held GPUs for kTurn, and in total for more than kTurn plus twice the
// time of a waiting job of its tenant, gives its place to it and waits again, behind the jobs that
// wait then. So new jobs get early feedback, and an overdue job replaces one job, not a whole seat.
//
// If only the minimum run time of other jobs blocks an overdue job, no younger job gets GPUs until
// then. So an overdue job waits only for older jobs. In the same way, no job borrows GPUs that an
// entitled job waits for.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/planner/gandiva_floor.h"

namespace muster {

class GandivaRoom {
 public:
  static constexpr Duration kPatience = Duration::seconds(1800);
  static constexpr Duration kTurn = Duration::seconds(1800);

  // `max_jobs`: maximum number of time-sliced jobs per GPU.
  GandivaRoom(const Cluster& cluster, std::size_t max_jobs)
      : max_jobs_(max_jobs), wanted_(cluster.topology().gpu_type_count()) {}

  // Starts an entitled job on GPUs that other tenants have borrowed. Returns false if that is
  // impossible now.
  bool reclaim(PlanWriter pen, GandivaFloor& floor, JobId job);

  // Call at the start of a plan: starts the oldest overdue job for which this is possible.
  void serve_overdue(PlanWriter pen, GandivaFloor& floor);

  // Call after the entitled jobs were tried: records what the remaining ones still need.
  void note_owners(const GandivaFloor& floor);

  // Call after all waiting jobs were tried: lets waiting jobs take turns with running ones.
  void rotate(PlanWriter pen, GandivaFloor& floor);

  // Whether idle GPUs of a type are reserved for other jobs; whether the job may share GPUs with
  // others; and whether any idle GPUs are reserved.
  bool is_barred(GpuTypeId type, JobId job, bool own) const;
  bool may_join(JobId job, bool own) const;
  bool keeps_any() const { return awaited_ || owners_wait_; }

  // Time of the next serve_overdue() or rotate() call.
  Instant next(const GandivaFloor& floor) const;

 private:
  struct Awaited {
    JobId job;
    std::optional<GpuTypeId> gpu_type;
  };
  using Group = GandivaQueue::Group;

  bool help(PlanWriter pen, GandivaFloor& floor, JobId job);
  bool replace_younger(PlanWriter pen, GandivaFloor& floor, JobId job);
  void rotate_group(PlanWriter pen, GandivaFloor& floor, const Group& group);

  std::size_t max_jobs_;
  std::optional<Awaited> awaited_;
  // Last check of overdue jobs; the next is at `check_at_`.
  Instant checked_ = Instant::micros(-1);
  Instant check_at_;
  Instant rotate_at_;                         // Earliest time of the next rotation.
  Instant turn_ends_ = Instant::never();      // End of the first turn that still lasts.
  std::uint64_t seen_ = 0;                    // Version of the seats at the last check.
  IdVector<GpuTypeId, std::uint8_t> wanted_;  // 1 if an entitled job waits for this type.
  bool owners_wait_ = false;
};

}  // namespace muster
