#pragma once

// Stops jobs to free GPUs for others. A job within its tenant's entitlement may take lent GPUs. An
// overdue job may also take the GPUs of younger jobs of its tenant, or of any younger jobs without
// tenants. A job is overdue if it was the oldest of its group for longer than kPatience and would
// be within its tenant's entitlement without younger jobs. The youngest jobs stop first, whole
// seats at a time, and only if the job starts in the same plan.
//
// If only the minimum run time of other jobs blocks an overdue job, no younger job gets GPUs until
// then. So an overdue job waits only for older jobs. In the same way, no job borrows GPUs that an
// entitled job waits for.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/planner/gandiva_floor.h"

namespace muster {

class GandivaRoom {
 public:
  static constexpr Duration kPatience = Duration::seconds(1800);

  explicit GandivaRoom(const Cluster& cluster) : wanted_(cluster.topology().gpu_type_count()) {}

  // Starts an entitled job on GPUs that other tenants have borrowed. Returns false if that is
  // impossible now.
  bool reclaim(PlanWriter pen, GandivaFloor& floor, JobId job);

  // Call at the start of a plan: starts the oldest overdue job for which this is possible.
  void serve_overdue(PlanWriter pen, GandivaFloor& floor);

  // Call after the entitled jobs were tried: records what the remaining ones still need.
  void note_owners(const GandivaFloor& floor);

  // Whether idle GPUs of a type are reserved for other jobs; whether the job may share GPUs with
  // others; and whether any idle GPUs are reserved.
  bool is_barred(GpuTypeId type, JobId job, bool own) const;
  bool may_join(JobId job, bool own) const;
  bool keeps_any() const { return awaited_ || owners_wait_; }

  // Time of the next check of overdue jobs.
  Instant next(const GandivaFloor& floor) const;

 private:
  struct Awaited {
    JobId job;
    std::optional<GpuTypeId> gpu_type;
  };
  bool help(PlanWriter pen, GandivaFloor& floor, JobId job);

  std::optional<Awaited> awaited_;
  // Last check of overdue jobs; the next is at `check_at_`.
  Instant checked_ = Instant::micros(-1);
  Instant check_at_;
  std::uint64_t seen_ = 0;                    // Version of the seats at the last check.
  IdVector<GpuTypeId, std::uint8_t> wanted_;  // 1 if an entitled job waits for this type.
  bool owners_wait_ = false;
};

}  // namespace muster
