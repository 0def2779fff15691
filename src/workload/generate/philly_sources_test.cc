#include "workload/generate/philly_sources.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace muster {
namespace {

std::map<std::int32_t, double> jobs_by_size(const std::vector<PhillySource>& sources) {
  std::map<std::int32_t, double> jobs;
  for (const PhillySource& source : sources) jobs[source.gpus] += source.share;
  return jobs;
}

TEST(PhillySources, KeepSizesForAnyNumberOfTenants) {
  const auto fifteen = jobs_by_size(philly_sources(15));
  EXPECT_EQ(fifteen.size(), 10u);
  EXPECT_EQ(fifteen.at(1), 63'826);  // Without the probes.
  EXPECT_EQ(fifteen.at(128), 3);
  for (const int tenants : {1, 2, 14, 16, 31, 1000}) {
    const std::vector<PhillySource> sources = philly_sources(tenants);
    std::set<std::uint32_t> seen;
    for (const PhillySource& source : sources) seen.insert(source.tenant);
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(tenants));
    for (const auto& [gpus, jobs] : jobs_by_size(sources)) {
      EXPECT_NEAR(jobs, fifteen.at(gpus), 1e-6) << tenants << " tenants, " << gpus << " GPUs";
    }
  }
}

TEST(PhillySources, HaveUsersOfTheirOwn) {
  const std::vector<PhillySource> sources = philly_sources(40);
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const PhillySource& last = sources[i - 1];
    const bool same = last.tenant == sources[i].tenant;
    EXPECT_EQ(sources[i].first_user, last.first_user + (same ? 0 : last.users()));
    EXPECT_EQ(sources[i].first_experiment, last.first_experiment + last.users());
  }
}

TEST(Zipf, PrefersTheFirst) {
  Random random(1);
  int counts[4] = {};
  for (int i = 0; i < 25'000; ++i) ++counts[zipf(4, random)];
  EXPECT_NEAR(counts[0], 12'000, 300);
  EXPECT_NEAR(counts[1], 6000, 300);
  EXPECT_NEAR(counts[2], 4000, 300);
  EXPECT_NEAR(counts[3], 3000, 300);
  EXPECT_EQ(zipf(1, random), 0u);
}

}  // namespace
}  // namespace muster
