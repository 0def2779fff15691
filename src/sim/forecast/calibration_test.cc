// Bands hold about four of five starts, on a history made up here.

#include "sim/forecast/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "engine/scheduler/scheduler.h"

namespace muster {
namespace {

struct World {
  explicit World(const char* policy) : engine(make(policy)) {}
  Engine make(const char* policy) {
    PlannerOptions wanted;
    wanted.parts.policy = policy;
    MadePlanner made = make_planner(cluster, wanted);
    EngineOptions options;
    options.pooling = made.pooling;
    options.estimates = EstimateSource::Kind::kHistory;
    return {cluster, std::move(made.planner), options};
  }
  Topology topology = parse_cluster_shorthand("4x4").value();
  ProfileTable profiles;
  Cluster cluster{topology, profiles};
  Engine engine;
};

// Users whose jobs take very different times, on a cluster that is nearly full.
std::vector<FutureArrival> history(std::size_t jobs, std::uint64_t seed) {
  Random random(seed);
  std::vector<FutureArrival> all;
  Instant at;
  for (std::size_t i = 0; i < jobs; ++i) {
    at = at + Duration::micros(static_cast<std::int64_t>(random.exponential(330e6)));
    JobSpec spec;
    spec.user = UserId(random.below(6));
    spec.gpus = 1 << random.below(3);
    const double typical = 400.0 * (1 + spec.user.index());
    const double work = typical * portable_exp(0.8 * random.normal());
    all.push_back({at, spec, Duration::micros(static_cast<std::int64_t>(work * 1e6))});
  }
  return all;
}

double part(std::size_t some, std::size_t all) {
  return static_cast<double>(some) / static_cast<double>(all);
}

TEST(Calibration, BandsHoldFourOfFive) {
  for (const char* policy : {"fifo", "srtf"}) {
    World world(policy);
    CalibrationOptions options;
    options.start.most_drives = 4;
    const CalibrationReport report = calibrate(world.engine, history(1'500, 3), options);
    SCOPED_TRACE(policy);
    EXPECT_EQ(report.jobs, 1'500U);
    EXPECT_GT(report.asked, 300U);
    EXPECT_EQ(report.inside + report.before + report.after, report.asked);
    EXPECT_GE(report.share(), 0.75);
    EXPECT_LE(report.share(), 0.85);
    EXPECT_NEAR(part(report.levels[0].inside, report.asked), 0.5, 0.08);
    EXPECT_NEAR(part(report.levels[2].inside, report.asked), 0.95, 0.04);
    EXPECT_LT(report.levels[0].width, report.levels[1].width);
    EXPECT_LT(report.levels[1].width, report.levels[2].width);
    // And not by being endless.
    EXPECT_LT(report.width.in_seconds(), 8 * report.wait.in_seconds() + 3'600);
  }
}

// With time limits far above the run times, they predict starts that are far too late.
TEST(Calibration, ComparesWithTimeLimits) {
  World world("fifo");
  CalibrationOptions options;
  options.start.most_drives = 3;
  options.limit = Duration::seconds(86'400);
  const CalibrationReport report = calibrate(world.engine, history(500, 3), options);
  EXPECT_GT(report.limit_before, report.asked * 9 / 10);
  EXPECT_GT(report.limit_miss, report.miss);
}

}  // namespace
}  // namespace muster
