#pragma once

// The resource ledger as it would be if every job held only its guaranteed minimum: the larger of
// its proportional share and JobSpec::least. An adaptive mechanism can give the free rest to a new
// job, because it can reclaim everything above the minimum from running jobs.

#include "engine/core/mechanism.h"
#include "engine/core/view.h"

namespace muster {

class Draft;

class GuaranteedLedger {
 public:
  // Counts all placed jobs that hold GPUs in the draft.
  GuaranteedLedger(const Cluster& cluster, const View& view, const Draft& draft);

  // Adds a job on exactly the GPUs of `slots`. Returns false, without a change, if they or the CPU
  // and memory of its guaranteed minimum are not free.
  bool keep(const JobSpec& spec, const Placement& slots);
  // Adds a job where the placer finds its guaranteed minimum. Returns false, without a change, if
  // there is no place.
  bool place(const Placer& placer, const Ask& ask);

 private:
  const Cluster* cluster_;
  ResourceLedger ledger_;
};

// Returns `slots` with the CPU, memory and storage of the guaranteed minimum of a job.
Placement least_on(const Cluster& cluster, const JobSpec& spec, const Placement& slots);

}  // namespace muster
