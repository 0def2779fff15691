#include "workload/generate/philly_sources.h"

#include <algorithm>

#include "base/types/check.h"

namespace muster {

namespace {

// Returns tenant `i`'s share of the jobs of its virtual cluster. Tenants that share one have
// weights 1, 1/2, 1/3, ...
double part_of(std::size_t i, std::size_t tenants) {
  const auto weight = [](std::size_t tenant) {
    const std::size_t earlier = tenant / kPhillyTenantCount;
    return 1.0 / static_cast<double>(earlier + 1);
  };
  double sum = weight(i);
  for (std::size_t j = i % kPhillyTenantCount; j < tenants; j += kPhillyTenantCount) {
    if (j != i) sum += weight(j);
  }
  return weight(i) / sum;
}

}  // namespace

double PhillySource::mean_campaign() const {
  if (!has_sweeps()) return kSmallCampaign;
  const double largest = figures->largest;
  const double sweep = (largest - kMinSweep) / portable_log(largest / kMinSweep);
  return figures->sweeps * sweep + (1 - figures->sweeps) * kSmallCampaign;
}

std::vector<PhillySource> philly_sources(int tenants) {
  MUSTER_CHECK(tenants >= 1);
  const auto count = static_cast<std::size_t>(tenants);
  std::vector<PhillySource> sources;
  std::size_t users = 0;
  std::size_t experiments = 0;
  for (std::size_t i = 0; i < std::max(count, kPhillyTenantCount); ++i) {
    const double part = part_of(i, count);
    PhillySource source;
    source.figures = &philly_tenants()[i % kPhillyTenantCount];
    source.tenant = static_cast<std::uint32_t>(i % count);
    source.first_user = users;
    for (std::size_t size = 0; size < kPhillySizes.size(); ++size) {
      if (source.figures->jobs[size] == 0) continue;
      source.share = source.figures->jobs[size] * part;
      source.gpus = kPhillySizes[size];
      source.run_times = philly_run_time_class(source.gpus);
      source.first_experiment = experiments;
      experiments += source.users();
      sources.push_back(source);
    }
    users += source.users();
  }
  return sources;
}

std::vector<BalancedSampler::Kind> source_kinds(const std::vector<PhillySource>& sources) {
  std::vector<BalancedSampler::Kind> kinds;
  kinds.reserve(sources.size());
  for (const PhillySource& source : sources) {
    kinds.push_back({source.share, source.mean_campaign()});
  }
  return kinds;
}

std::size_t zipf(std::size_t count, Random& random) {
  double sum = 0;
  for (std::size_t i = 1; i <= count; ++i) sum += 1.0 / static_cast<double>(i);
  double left = random.uniform() * sum;
  for (std::size_t i = 1; i < count; ++i) {
    left -= 1.0 / static_cast<double>(i);
    if (left < 0) return i - 1;
  }
  return count - 1;  // Also after a rounding error.
}

}  // namespace muster
