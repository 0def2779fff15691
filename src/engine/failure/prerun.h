#pragma once

// Model of the pre-run for simulations: a job first runs for a few minutes on one GPU of a small
// pool, before it gets its gang. So faults of the program appear where they are cheap.

#include <cstdint>
#include <optional>

#include "base/types/time.h"
#include "engine/failure/fault_model.h"

namespace muster {

struct PreRunOptions {
  Duration limit = Duration::seconds(300);  // Maximum length of a pre-run.
  // Smaller jobs have no pre-run, because their gang costs no more than the pool.
  std::int32_t least_gpus = 2;
};

struct PreRun {
  Duration takes;       // Length of the pre-run; zero: none.
  bool caught = false;  // The job failed in its pre-run and need not run at all.

  friend bool operator==(const PreRun&, const PreRun&) = default;
};

// Returns the outcome of the pre-run of a job. `trouble` is the failure of its first attempt by the
// fault model, and `run_time` its total run time. The pre-run detects permanent faults (sticky)
// that occur before the limit and on one GPU. It does not meet passing failures of the first
// attempt. The job is assumed to fail as soon on one GPU as on all.
PreRun pre_run(std::int32_t gpus, const std::optional<InjectedFailure>& trouble, Duration run_time,
               const PreRunOptions& options);

}  // namespace muster
