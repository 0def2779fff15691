#pragma once

// Gives elastic jobs more GPUs than requested while no other job needs them. A job grows by up to a
// factor of two at a time on its node. It shrinks back if it gets hardly faster, or when a waiting
// job could use the GPUs.

#include <cstdint>
#include <set>
#include <vector>

#include "engine/planner/gandiva_floor.h"

namespace muster {

class GandivaGrowth {
 public:
  // Ends trials that are due: keeps the growth or reverts it.
  void judge(PlanWriter pen, GandivaFloor& floor);

  // Grows jobs. Call only if no job waits and no GPUs are shared.
  void grow(PlanWriter pen, GandivaFloor& floor);

  // Starts a waiting job on GPUs that grown jobs release, if that is enough. Shrinks only the jobs
  // that are needed.
  bool shrink_for(PlanWriter pen, GandivaFloor& floor, JobId job, const Demand& demand);

  Instant next() const;  // Time of the next judge() call; never() if no trial runs.

 private:
  struct Trial {
    JobId job;
    std::uint32_t id;
    Instant until;
    std::int32_t more;  // Maximum extra slices while the report is missing.
    std::int32_t gpus;  // Before the trial.
    double speed;       // Before the trial.
  };
  void judge_one(PlanWriter pen, GandivaFloor& floor, Trial& trial);

  std::vector<Trial> trials_;
  std::set<JobId> sated_;  // Jobs that did not get faster with more GPUs.
};

}  // namespace muster
