#pragma once

// Workloads like that of Microsoft's Philly cluster, from a seed: arrivals with the rhythm of day
// and week, in campaigns of one to hundreds of jobs; tenants of very unequal size, each with its
// own mix of GPU counts; run times by size. The figures are in philly_figures.h, what is modelled
// and what is not in docs/generator.md. The same options give the same trace on every machine.

#include <cstdint>

#include "base/types/result.h"
#include "workload/generate/philly_figures.h"
#include "workload/trace/trace.h"

namespace muster {

inline constexpr int kMostPhillyTenants = 1000;

struct PhillyLikeOptions {
  std::int64_t jobs = 1000;
  double jobs_per_hour = kPhillyJobsPerHour;  // On average over a week; probes included.
  // Of 15, each is one of Philly's virtual clusters. Fewer share those out among them, of more
  // several share one, unequally; sizes and run times over all tenants stay the same.
  int tenants = static_cast<int>(kPhillyTenantCount);
  std::uint64_t seed = 42;
};

// The rate at which so many GPUs would be busy on average if no job had to wait.
double rate_for_load(double gpus);

// The message begins with the option's name: "jobs", "rate" or "tenants".
Refusal check_options(const PhillyLikeOptions& options);

// Refuses what check_options() refuses. Time zero is a Monday, midnight. Jobs are numbered from 0
// in order of arrival and have whole seconds, as Philly's; tenants are t0, t1, ..., Philly's
// largest first. Users u0, u1, ... belong to one tenant each. Jobs of one name are of one user and
// size and run about as long; probes are called "probe". There are no models.
Result<Trace> generate_philly_like(const PhillyLikeOptions& options);

}  // namespace muster
