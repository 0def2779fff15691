#pragma once

// Where the jobs of a Philly-like workload come from: who asks for how many GPUs how often. One
// source stands for the campaigns of one size by one tenant.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types/random.h"
#include "workload/generate/philly_figures.h"
#include "workload/generate/urn.h"

namespace muster {

struct PhillySource {
  const PhillyTenant* figures = nullptr;
  double share = 0;  // Of jobs; only ratios count.
  std::int32_t gpus = 1;
  std::size_t run_times = 0;         // Class, as philly_run_times() has them.
  std::uint32_t tenant = 0;          // From 0.
  std::size_t first_user = 0;        // Users are numbered through all tenants,
  std::size_t first_experiment = 0;  // and for experiments through all sources.

  std::size_t users() const { return static_cast<std::size_t>(figures->users); }
  bool has_sweeps() const { return gpus == 1 && figures->sweeps > 0; }
  double mean_campaign() const;  // Jobs.
};

// For so many tenants, at least 1. Fewer than Philly's 15 get several virtual clusters each, in
// turn; of more, several share one, as 1 to 1/2 to 1/3 and so on. Either way the shares of sizes
// over all tenants are the same.
std::vector<PhillySource> philly_sources(int tenants);

std::vector<Urn::Kind> source_kinds(const std::vector<PhillySource>& sources);

// 0 <= result < count: the first twice as often as the second, three times as often as the third.
std::size_t zipf(std::size_t count, Random& random);

}  // namespace muster
