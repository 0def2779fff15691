#pragma once

// Converts measurements of a job to a Profile or to the profile file that the simulator and the
// manager read (docs/reference/formats.md, "Profiles").

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/fit/memory_model.h"
#include "engine/fit/speed_curve.h"
#include "engine/model/profile.h"

namespace muster {

struct MeasuredProfile {
  std::string name;
  std::int32_t gpus = 1;  // GPUs of the measured job; the profile is per GPU.
  SpeedCurve curve;       // For the whole job; at least one point.
  // Milli-CPUs up to which a curve that still rises at its last point is extrapolated; 0: not at
  // all.
  std::int64_t reach = 0;
  std::optional<DataFacts> data;
  double skew = 0;                   // See Profile::skew(); zero: unknown.
  std::vector<std::string> remarks;  // Comment lines at the top of the file.
};

// Returns the speed matrix per GPU, relative to the reference share: rows are the measured CPUs and
// points between. With data, memory is modeled; otherwise there is one column and memory is
// unknown. Fails if the speeds differ by more than a profile can hold (a factor of a million).
Result<SpeedMatrix> matrix_of(const MeasuredProfile& measured);

// Returns the profile as YAML. Same errors as matrix_of().
Result<std::string> profile_yaml(const MeasuredProfile& measured);
// Returns the profile itself, with speeds multiplied by `scale`. Same errors as matrix_of().
Result<Profile> profile_of(const MeasuredProfile& measured, double scale = 1);

// Estimated cost of measuring Synergy's full grid instead: 24 CPU shares and, with data, 11 memory
// shares, each for the same time as a measured point.
struct GridCost {
  int points = 0;
  Duration time;
};
GridCost grid_cost(const MeasuredProfile& measured, Duration measured_time);

}  // namespace muster
