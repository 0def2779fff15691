#pragma once

// Generates workloads like Microsoft's Philly cluster from a seed: arrivals with a daily and weekly
// pattern, in campaigns of one to hundreds of jobs; tenants of very different sizes, each with its
// own mix of GPU counts; run times by size. philly_figures.h has the statistics, and
// docs/how-to/generate-workloads.md describes the model and its limits. The same options give the
// same trace on every machine.

#include <cstdint>

#include "base/types/result.h"
#include "workload/generate/philly_figures.h"
#include "workload/trace/trace.h"

namespace muster {

inline constexpr int kMaxPhillyTenants = 1000;

struct PhillyLikeOptions {
  std::int64_t jobs = 1000;
  double jobs_per_hour = kPhillyJobsPerHour;  // Mean over a week, including probes.
  // With 15 tenants, each is one of Philly's virtual clusters. With fewer, a tenant has several of
  // them; with more, several tenants share one unequally. Sizes and run times over all tenants do
  // not change.
  int tenants = static_cast<int>(kPhillyTenantCount);
  std::uint64_t seed = 42;
};

// Returns the jobs per hour that keep `gpus` GPUs busy on average if no job has to wait.
double rate_for_load(double gpus);

// Validates each option. The error message begins with its name: "jobs", "rate" or "tenants".
MaybeError check_options(const PhillyLikeOptions& options);

// Returns the errors of check_options(). Time 0 is midnight on a Monday. Job ids are numbers from 0
// in order of arrival; times are whole seconds, as in Philly. Tenants are t0, t1, ..., Philly's
// largest first. Each user (u0, u1, ...) belongs to one tenant. Jobs with the same name have the
// same user, size and similar run times. Probes have the name "probe". There are no models.
Result<Trace> generate_philly_like(const PhillyLikeOptions& options);

}  // namespace muster
