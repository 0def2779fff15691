#pragma once

// The books as they would be if every job held no more than it has a right to: its proportional
// share, or what it asks for at the least where that is more. What is free in them is what an
// adaptive mechanism can give a newcomer, since it takes back from everybody what is above that.

#include "engine/core/mechanism.h"
#include "engine/core/view.h"

namespace muster {

class Draft;

class LeastBooks {
 public:
  // Everybody who holds GPUs in the draft.
  LeastBooks(const Cluster& cluster, const View& view, const Draft& draft);

  // One more job, on the very GPUs of this placement. False, and nothing changed: there is no room.
  bool keep(const JobSpec& spec, const Placement& slots);
  // One more job, where the placer finds room for what it has a right to.
  bool place(const Placer& placer, const Ask& ask);

 private:
  const Cluster* cluster_;
  Books books_;
};

// The right to CPU and memory, of one job on these GPUs.
Placement least_on(const Cluster& cluster, const JobSpec& spec, const Placement& slots);

}  // namespace muster
