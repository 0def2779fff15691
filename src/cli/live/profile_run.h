#pragma once

// Measures one profile for `muster profile`: runs the job under a few CPU limits, measures its data
// set and builds a profile.

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
  std::optional<CpuAmount> most_cpus;  // None: all CPUs of this machine.
  std::string dataset;                 // A path. Empty, without dataset_size: no memory model.
  std::optional<MemAmount> dataset_size;
  std::int64_t epoch_steps = 0;  // Steps per training epoch. 0: as the job reports.
  Duration budget = Duration::seconds(180);
  std::string shim;
  std::string notes;                          // File that caches measured bandwidths.
  std::function<void(const Session&)> watch;  // See measure.h.
  std::function<bool()> interrupted;          // See measure.h.
};

struct ProfileResult {
  MeasuredProfile profile;
  Measured measured;
  double fair_cpus = 0;              // CPUs of this machine divided by its GPUs.
  std::vector<std::string> remarks;  // Assumptions and partial results, one line each.
};

// Runs the measurement; takes up to about `order.budget`. If the speed cannot be measured, the
// error also states which share the job gets instead.
Result<ProfileResult> run_profile_order(const ProfileOrder& order);

}  // namespace muster
