#pragma once

// What was found out about a job, as a profile: the text that the simulator and the manager read
// (docs/formats.md, "Profiles").

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
  std::int32_t gpus = 1;  // Of the job; a profile is about one of them.
  SpeedCurve curve;       // Of the whole job, with at least one point.
  // It was still rising at the last point, and is believed to go on so up to here; zero: no.
  std::int64_t reach = 0;
  std::optional<DataFacts> data;
  double skew = 0;                   // See Profile::skew(); zero: not known.
  std::vector<std::string> remarks;  // Lines of comment at its top.
};

// Per GPU: measured CPUs, with what lies between them; speeds relative to the reference share.
// With data, memory is modelled; otherwise there is one column, of which nothing is known.
// Refuses measurements beyond what a profile can hold: speeds a million times apart.
Result<SpeedMatrix> matrix_of(const MeasuredProfile& measured);

Result<std::string> profile_yaml(const MeasuredProfile& measured);
// The same for a table at once; speeds times `scale`.
Result<Profile> profile_of(const MeasuredProfile& measured, double scale = 1);

// What the whole grid would have cost that few points stand for: as many seconds at each of 24
// shares of CPU and, with data, 11 of memory (Synergy's grid).
struct GridCost {
  int points = 0;
  Duration time;
};
GridCost grid_cost(const MeasuredProfile& measured, Duration measured_time);

}  // namespace muster
