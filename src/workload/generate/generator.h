#pragma once

// Workloads from a seed, by the law of Synergy's generator (OSDI'22): a fixed mix of tasks whose
// models take turns, Poisson arrivals, Gavel's two-range durations. The same options give the same
// trace on every machine; each aspect draws from its own stream, so that changing the arrival rate,
// say, leaves durations and GPU counts as they were.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/profile.h"
#include "workload/trace/trace.h"

namespace muster {

inline constexpr std::int64_t kMostGeneratedJobs = 10'000'000;

// Percent of jobs of each kind; together 100, give or take 1 (people write 33,33,33).
struct TaskSplit {
  double image = 20;
  double language = 70;
  double speech = 10;
};

struct GpuShare {
  std::int32_t gpus = 1;
  double percent = 100;
};

// A job runs 60 s * 10^U: with probability `short_share` U is drawn from the short range, otherwise
// from the long one.
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
  bool static_arrivals = false;  // All at time zero; the rate is then not used.
};

// "20,70,10": image, language, speech.
Result<TaskSplit> parse_task_split(std::string_view text);

// "1:70,2:10,4:15,8:5" (GPUs:percent), or a name: "single" (all 1), "multi" (the mix just given).
Result<std::vector<GpuShare>> parse_gpu_mix(std::string_view text);

// The options one by one; the message begins with the option's name.
Refusal check_options(const GeneratorOptions& options);

// Refuses what check_options() refuses, and profiles that lack a model it needs. Jobs are numbered
// from 0 and named after their model; user u0..u7 and tenant t0..t3 are drawn. The first job
// arrives one gap after time zero.
Result<Trace> generate_trace(const GeneratorOptions& options, const ProfileTable& profiles);

}  // namespace muster
