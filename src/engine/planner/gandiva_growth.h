#pragma once

// Elastic jobs on more GPUs than they asked for, while nobody else wants them: grown to twice as
// many at a time on the server they are on, and back again if that made them hardly faster, or as
// soon as somebody waits who could start by it.

#include <cstdint>
#include <set>
#include <vector>

#include "engine/planner/gandiva_floor.h"

namespace muster {

class GandivaGrowth {
 public:
  // Keeps or takes back what was tried long enough.
  void judge(Pen pen, GandivaFloor& floor);

  // Only when nobody waits and no GPUs are shared.
  void grow(Pen pen, GandivaFloor& floor);

  // Starts a waiting job on what grown ones give back, if that is enough for it; those that would
  // not help it stay as they are.
  bool shrink_for(Pen pen, GandivaFloor& floor, JobId job, const Demand& demand);

  Instant next() const;  // When there is something to judge.

 private:
  struct Trial {
    JobId job;
    std::uint32_t id;
    Instant until;
    std::int32_t more;  // So many slices longer at most, for want of a report.
    std::int32_t gpus;  // Before.
    double speed;       // Before.
  };
  void judge_one(Pen pen, GandivaFloor& floor, Trial& trial);

  std::vector<Trial> trials_;
  std::set<JobId> sated_;  // Have shown that more GPUs do not help them.
};

}  // namespace muster
