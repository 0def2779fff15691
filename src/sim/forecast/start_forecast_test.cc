// Predicted starts of many jobs from shared simulations.

#include "sim/forecast/start_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/scheduler/scheduler.h"

namespace muster {
namespace {

Instant at(std::int64_t second) { return Instant::at(Duration::seconds(second)); }

// Two GPUs, five jobs of one GPU that say they take 100 s: two run, three wait.
class Starts : public testing::Test {
 protected:
  Starts() {
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

TEST_F(Starts, AreThoseOfEachAlone) {
  const ForecastOptions options;
  const auto all = sample_starts(*engine_, at(10), waiting_, RuntimeSampler(), options);
  ASSERT_EQ(all.size(), 3U);
  for (const JobId job : waiting_) {
    const std::vector<JobId> one = {job};
    EXPECT_EQ(all.at(job), sample_starts(*engine_, at(10), one, RuntimeSampler(), options).at(job));
    EXPECT_TRUE(std::is_sorted(all.at(job).begin(), all.at(job).end()));
    EXPECT_EQ(all.at(job).size(), 9U);
  }
  EXPECT_LT(all.at(JobId(2))[4], all.at(JobId(4)).back());
}

TEST_F(Starts, AreNotGivenWhereADriveWasCutShort) {
  ForecastOptions options;
  options.tired = [](int) { return true; };
  // All start within the few steps after which it is asked.
  EXPECT_EQ(sample_starts(*engine_, at(10), waiting_, RuntimeSampler(), options).size(), 3U);
  JobSpec large;
  large.estimate = Duration::seconds(10);
  const std::vector<Event> events(200, JobSubmitted{large});
  engine_->step(at(10), events);
  std::vector<JobId> all;
  for (std::size_t i = 2; i < 205; ++i) all.emplace_back(i);
  const auto starts = sample_starts(*engine_, at(10), all, RuntimeSampler(), options);
  EXPECT_TRUE(starts.contains(JobId(2)));
  EXPECT_FALSE(starts.contains(JobId(204)));
}

TEST_F(Starts, StopWhenThereAreEnough) {
  ForecastOptions options;
  int drives = 0;
  options.enough = [&](int done) { return (drives = done) == 2; };
  EXPECT_EQ(sample_starts(*engine_, at(10), waiting_, RuntimeSampler(), options).size(), 3U);
  EXPECT_EQ(drives, 2);
}

// A job that needs a closed node starts when the node is opened, not never.
TEST_F(Starts, CountANodeThatWillBeOpened) {
  const Topology topology = parse_cluster_shorthand("2x2").value();
  const Cluster cluster(topology, profiles_);
  MadePlanner made = make_planner(cluster, {});
  Engine engine(cluster, std::move(made.planner), EngineOptions());
  JobSpec spec;
  spec.gpus = 4;
  const std::vector<Event> events = {NodeClosed{NodeId(1)}, JobSubmitted{spec}};
  engine.step(at(0), events);
  const std::vector<JobId> jobs = {JobId(0)};
  ForecastOptions options;
  const auto without = sample_starts(engine, at(10), jobs, RuntimeSampler(), options);
  EXPECT_EQ(without.at(JobId(0)).front(), Instant::never());
  options.nodes = {{at(500), NodeId(1)}};
  const auto with = sample_starts(engine, at(10), jobs, RuntimeSampler(), options);
  EXPECT_EQ(with.at(JobId(0)).front(), at(500));
  EXPECT_EQ(with.at(JobId(0)).back(), at(500));
}

// Each job runs until its time limit: 100 s here.
TEST_F(Starts, ByTimeLimitsAssumeTheLimitAsRunTime) {
  const auto starts = starts_by_limits(*engine_, at(10), waiting_, Duration::seconds(100));
  EXPECT_EQ(starts.at(JobId(2)), at(100));
  EXPECT_EQ(starts.at(JobId(3)), at(100));
  EXPECT_EQ(starts.at(JobId(4)), at(200));
}

// Users cancel one in two jobs that wait for an hour: the last of the queue starts sooner.
TEST_F(Starts, CountCancellationsOfWaitingJobs) {
  RuntimeSampler patient;
  RuntimeSampler impatient;
  for (int i = 0; i < 200; ++i) impatient.record_wait(Duration::seconds(60), true);
  JobSpec spec;
  spec.estimate = Duration::seconds(100);
  const std::vector<Event> events(20, JobSubmitted{spec});
  engine_->step(at(10), events);
  const std::vector<JobId> last = {JobId(24)};
  const ForecastOptions options;
  const auto later = sample_starts(*engine_, at(10), last, patient, options);
  const auto sooner = sample_starts(*engine_, at(10), last, impatient, options);
  EXPECT_LT(sooner.at(JobId(24))[4], later.at(JobId(24))[4]);
  EXPECT_NE(sooner.at(JobId(24)).back(), Instant::never());
}

}  // namespace
}  // namespace muster
