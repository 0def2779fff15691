// Predicted starts of many jobs from shared simulations.

#include "sim/forecast/start_forecast.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "engine/scheduler/scheduler.h"

namespace muster {
namespace {

Instant at(std::int64_t second) { return Instant::at(Duration::seconds(second)); }

// Two GPUs, five jobs of one GPU that say they take 100 s: two run, three wait.
class Etas : public testing::Test {
 protected:
  Etas() {
    EngineOptions options;
    options.estimates = EstimateSource::Kind::kHistory;
    MadePlanner made = make_planner(cluster_, {});
    engine_.emplace(cluster_, std::move(made.planner), options);
    JobSpec spec;
    spec.estimate = Duration::seconds(100);
    const std::vector<Event> events(5, JobSubmitted{spec});
    engine_->step(at(0), events);
    const std::vector<Event> up = {LeaseStarted{JobId(0), 1}, LeaseStarted{JobId(1), 1}};
    engine_->step(at(0), up);
  }

  const Topology topology_ = parse_cluster_shorthand("1x2").value();
  const ProfileTable profiles_;
  const Cluster cluster_{topology_, profiles_};
  std::optional<Engine> engine_;
  const std::vector<JobId> waiting_ = {JobId(2), JobId(3), JobId(4)};
};

TEST_F(Etas, AreThoseOfEachAlone) {
  EtasOptions many;
  EtaOptions one;
  one.most_drives = many.most_drives;
  const auto bands = raw_etas(*engine_, at(10), waiting_, RuntimeSampler(), many);
  ASSERT_EQ(bands.size(), 3U);
  for (const JobId job : waiting_) {
    const Band alone = raw_eta(*engine_, at(10), job, RuntimeSampler(), one).band;
    EXPECT_EQ(bands.at(job).soonest, alone.soonest) << job.index();
    EXPECT_EQ(bands.at(job).likely, alone.likely) << job.index();
    EXPECT_EQ(bands.at(job).latest, alone.latest) << job.index();
  }
  EXPECT_LT(bands.at(JobId(2)).likely, bands.at(JobId(4)).latest);
}

TEST_F(Etas, AreNotGivenWhereADriveWasCutShort) {
  EtasOptions options;
  options.tired = [](int) { return true; };
  // All start within the few steps after which it is asked.
  EXPECT_EQ(raw_etas(*engine_, at(10), waiting_, RuntimeSampler(), options).size(), 3U);
  JobSpec large;
  large.estimate = Duration::seconds(10);
  const std::vector<Event> events(200, JobSubmitted{large});
  engine_->step(at(10), events);
  std::vector<JobId> all;
  for (std::size_t i = 2; i < 205; ++i) all.emplace_back(i);
  const auto bands = raw_etas(*engine_, at(10), all, RuntimeSampler(), options);
  EXPECT_TRUE(bands.contains(JobId(2)));
  EXPECT_FALSE(bands.contains(JobId(204)));
}

TEST_F(Etas, StopWhenThereAreEnough) {
  EtasOptions options;
  int drives = 0;
  options.enough = [&](int done) { return (drives = done) == 2; };
  EXPECT_EQ(raw_etas(*engine_, at(10), waiting_, RuntimeSampler(), options).size(), 3U);
  EXPECT_EQ(drives, 2);
}

}  // namespace
}  // namespace muster
