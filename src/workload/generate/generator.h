#pragma once

// Generates workloads from a seed, like Synergy's generator (OSDI'22): a fixed mix of tasks with
// rotating models, Poisson arrivals, and Gavel's durations from two ranges. The same options give
// the same trace on every machine. Each property uses its own random stream: for example, another
// arrival rate does not change durations and GPU counts.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/profile.h"
#include "workload/trace/trace.h"

namespace muster {

inline constexpr std::int64_t kMaxGeneratedJobs = 10'000'000;

// Percentage of jobs of each kind. The sum is 100, with a tolerance of 1 for input like 33,33,33.
struct TaskSplit {
  double image = 20;
  double language = 70;
  double speech = 10;
};

struct GpuShare {
  std::int32_t gpus = 1;
  double percent = 100;
};

// The run time is 60 s * 10^U. U is uniform in the short range with probability `short_share`,
// otherwise in the long range.
struct DurationLaw {
  double short_share = 0.8;
  double short_low = 1.5;
  double short_high = 3;
  double long_low = 3;
  double long_high = 4;
};

struct GeneratorOptions {
  std::int64_t jobs = 1000;
  double jobs_per_hour = 9;
  TaskSplit split;
  std::vector<GpuShare> gpu_mix = {GpuShare{}};
  DurationLaw duration;
  std::uint64_t seed = 42;
  bool static_arrivals = false;  // All jobs arrive at time 0; the rate is ignored.
};

// Parses "20,70,10": percentages of image, language and speech jobs.
Result<TaskSplit> parse_task_split(std::string_view text);

// Parses "1:70,2:10,4:15,8:5" (GPUs:percent), "single" (1 GPU for all) or "multi" (the mix above).
Result<std::vector<GpuShare>> parse_gpu_mix(std::string_view text);

// Validates each option. The error message begins with the name of the option.
MaybeError check_options(const GeneratorOptions& options);

// Returns the errors of check_options(), or an error if a model has no profile. Job ids are numbers
// from 0; the name of a job is its model. Users u0 to u7 and tenants t0 to t3 are random. The first
// job arrives one gap after time 0.
Result<Trace> generate_trace(const GeneratorOptions& options, const ProfileTable& profiles);

}  // namespace muster
