#pragma once

// The pre-run: a few minutes on one GPU of a small pool before a job gets its gang, so that what is
// wrong with the program shows where it is cheap. This is the model of it for a simulation.

#include <cstdint>
#include <optional>

#include "base/types/time.h"
#include "engine/failure/fault_model.h"

namespace muster {

struct PreRunOptions {
  Duration limit = Duration::seconds(300);
  std::int32_t least_gpus = 2;  // Smaller jobs go without: their gang is no dearer than the pool.
};

struct PreRun {
  Duration takes;       // Zero for a job that goes without.
  bool caught = false;  // The job failed in it, and need not be run at all.

  friend bool operator==(const PreRun&, const PreRun&) = default;
};

// What the pre-run of a job finds. `trouble` is that of the job's first attempt, by a fault model;
// `run_time` the job's own. It catches what is wrong with the job itself (sticky), comes before the
// limit and shows on one GPU; passing trouble of the first attempt is not met in another run.
// The job is taken to fail as soon on one GPU as on all.
PreRun pre_run(std::int32_t gpus, const std::optional<Trouble>& trouble, Duration run_time,
               const PreRunOptions& options);

}  // namespace muster
