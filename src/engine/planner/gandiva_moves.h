#pragma once

// Gandiva's migrations of running jobs to better places. All members of a seat move together. A job
// moves only after it has held its GPUs for a slice and its minimum run time, and only while the
// plan has moves left.

#include <cstddef>
#include <cstdint>

#include "engine/planner/gandiva_floor.h"

namespace muster {

// If GPUs are idle, moves members of the most shared seats to their own GPUs.
void rebalance(PlanWriter pen, GandivaFloor& floor);

// Starts a waiting job on the GPUs of a seat whose members join another seat of the same size.
// Without this, gangs would keep their GPUs while smaller jobs wait, because only jobs of equal
// size share GPUs; rebalance() undoes it later. Seats get at most `max_jobs` members. No seat is
// freed if waiting jobs request less than half of its GPUs. Returns false if no seat can be freed;
// then the job does not start.
bool fold(PlanWriter pen, GandivaFloor& floor, JobId job, const Demand& demand,
          std::size_t max_jobs);

// A cheap test: false if fold() is impossible for a job with this number of GPUs.
bool may_fold(const GandivaFloor& floor, std::int32_t gpus, std::size_t max_jobs);

// Starts a waiting job on as few nodes as possible by moving smaller jobs to idle GPUs elsewhere.
// Returns false if no nodes can be cleared; then the job does not start.
bool defragment(PlanWriter pen, GandivaFloor& floor, JobId job, const Demand& demand);

// If GPUs are idle, moves gangs that use more nodes than necessary to fewer nodes, and gangs that
// are clearly slower than expected away from their neighbors.
void gather(PlanWriter pen, GandivaFloor& floor);

// Swaps a spread gang with smaller jobs so that it gets as few nodes as possible, in one rack; at
// most one gang per slice. A gang that has this is not moved, so moves cannot oscillate.
class GandivaExchange {
 public:
  void attempt(PlanWriter pen, GandivaFloor& floor);

 private:
  Instant attempt_at_;        // Earliest time of the next attempt.
  GpuSeats::Row cursor_ = 0;  // Last row tried; rows are tried in turn.
};

}  // namespace muster
