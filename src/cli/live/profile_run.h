#pragma once

// One profile from beginning to end, for `muster profile`: the job run under few limits of CPU, its
// data looked at, and what comes of it as a profile.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/fit/measured_profile.h"
#include "engine/model/job_request.h"
#include "exec/machine/measure.h"

namespace muster {

struct ProfileOrder {
  JobRequest request;
  std::optional<CpuAmount> most_cpus;  // None: all of this machine's.
  std::string dataset;                 // A path; empty: nothing is known of memory.
  std::optional<MemAmount> dataset_size;
  std::int64_t epoch_steps = 0;  // Zero: as the job says.
  Duration budget = Duration::seconds(180);
  std::string shim;
  std::string notes;                          // Where bandwidths are remembered.
  std::function<void(const Session&)> watch;  // See measure.h, as is the next.
  std::function<bool()> interrupted;
};

struct ProfileResult {
  MeasuredProfile profile;
  Measured measured;
  double fair_cpus = 0;              // Beside a GPU, if this machine's CPUs were dealt out by GPUs.
  std::vector<std::string> remarks;  // Lines for people: what was taken for granted.
};

// An error in one sentence that ends in what the job gets instead.
Result<ProfileResult> run_profile_order(const ProfileOrder& order);

}  // namespace muster
