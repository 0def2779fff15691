#pragma once

// The sources of jobs of a Philly-like workload. A source represents the campaigns of one tenant
// with one number of GPUs. philly_like.cc uses them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types/random.h"
#include "workload/generate/balanced_sampler.h"
#include "workload/generate/philly_figures.h"

namespace muster {

struct PhillySource {
  const PhillyTenant* figures = nullptr;
  double share = 0;  // Share of all jobs; only ratios matter.
  std::int32_t gpus = 1;
  std::size_t run_times = 0;         // Class: index in philly_run_times().
  std::uint32_t tenant = 0;          // Number of the tenant, from 0.
  std::size_t first_user = 0;        // First user number; numbers are unique over all tenants.
  std::size_t first_experiment = 0;  // First experiment number; unique over all sources.

  std::size_t users() const { return static_cast<std::size_t>(figures->users); }
  bool has_sweeps() const { return gpus == 1 && figures->sweeps > 0; }
  double mean_campaign() const;  // Mean number of jobs per campaign.
};

// Returns the sources for this number of tenants. With fewer tenants than Philly's 15 virtual
// clusters, these are distributed round-robin. With more, several tenants share a virtual cluster
// in the ratio 1 : 1/2 : 1/3 and so on. The shares of sizes over all tenants are always the same.
// REQUIRES: tenants >= 1.
std::vector<PhillySource> philly_sources(int tenants);

// Returns one kind per source, for BalancedSampler.
std::vector<BalancedSampler::Kind> source_kinds(const std::vector<PhillySource>& sources);

// Returns a number from 0 to count - 1. Its probability is proportional to 1 / (number + 1).
std::size_t zipf(std::size_t count, Random& random);

}  // namespace muster
