#pragma once

// Room made by stopping others. Two have a right to it: a job within its tenant's part, to what was
// lent; and a job that is overdue, to what is held by younger jobs of its tenant as well, or by any
// younger jobs where there are no tenants. Overdue is who has been the oldest of its group for
// longer than kPatience and would be within its tenant's part but for younger jobs. The youngest
// are stopped first, whole seats of them, and only if the job starts by it in the same plan.
//
// If an overdue job could start so but for the minimum time others have to run, it is waited for:
// nobody younger gets anything until then. So an overdue job waits for older ones alone. In the
// same way nobody borrows what an owner waits for.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/planner/gandiva_floor.h"

namespace muster {

class GandivaRoom {
 public:
  static constexpr Duration kPatience = Duration::seconds(1800);

  explicit GandivaRoom(const Cluster& cluster) : wanted_(cluster.topology().gpu_type_count()) {}

  // Starts a job within its tenant's part on what others have borrowed.
  bool reclaim(Pen pen, GandivaFloor& floor, JobId job);

  // At the beginning of a plan: starts the oldest of the overdue jobs that can be helped.
  void serve_overdue(Pen pen, GandivaFloor& floor);

  // Once jobs within their part have had their turn: what those want that still wait.
  void note_owners(const GandivaFloor& floor);

  // Whether the job may not have idle GPUs of a type; may take turns with others; and whether idle
  // GPUs are kept for anybody.
  bool is_barred(GpuTypeId type, JobId job, bool own) const;
  bool may_join(JobId job, bool own) const;
  bool keeps_any() const { return awaited_ || owners_wait_; }

  // When an overdue job is to be looked at.
  Instant next(const GandivaFloor& floor) const;

 private:
  struct Awaited {
    JobId job;
    std::optional<GpuTypeId> gpu_type;
  };
  bool help(Pen pen, GandivaFloor& floor, JobId job);

  std::optional<Awaited> awaited_;
  Instant checked_ = Instant::micros(-1);  // For overdue jobs; not before `check_at_` again.
  Instant check_at_;
  std::uint64_t seen_ = 0;                    // Version of the seats then.
  IdVector<GpuTypeId, std::uint8_t> wanted_;  // By owners, beyond what is idle.
  bool owners_wait_ = false;
};

}  // namespace muster
