// How the roster uses the progress reports of jobs.

#include <gtest/gtest.h>

#include "engine/roster/roster.h"
#include "engine/roster/testing.h"

namespace muster {
namespace {

using live_testing::Desk;
using live_testing::settings_for;
using live_testing::submit;

RosterSettings by_progress(const char* cluster) {
  RosterSettings settings = settings_for(cluster, "srtf");
  settings.engine.estimates = EstimateSource::Kind::kProgress;
  return settings;
}

ReportInput left(LiveId id, std::uint32_t lease, std::int64_t seconds) {
  return {id, lease, seconds * 1000, {}};
}

Duration estimate(const Roster& roster, LiveId id) {
  return roster.engine().state().jobs[*roster.find(id)->row].estimate;
}

TEST(RosterReports, WhoHasLessLeftGoesFirst) {
  Desk desk(by_progress("1x1"));
  desk.at(0, {submit(1)});
  desk.at(100, {left(1, 1, 9000), submit(2)});
  EXPECT_EQ(desk.state(1), "queued") << "the other is estimated at an hour, this one at more";
  EXPECT_EQ(desk.state(2), "running");
  desk.at(200, {left(2, 1, 20'000)});
  EXPECT_EQ(desk.state(1), "running");
  desk.at(300, {left(1, 2, 8700)});
  EXPECT_EQ(desk.state(1), "running");
}

TEST(RosterReports, OfAStoppingLeaseToo) {
  RosterSettings settings = by_progress("1x1");
  Roster roster(settings);
  const auto at = [&](std::int64_t second, std::vector<Input> inputs) {
    roster.step(Instant::at(Duration::seconds(second)), inputs);
  };
  at(0, {submit(1)});
  at(1, {LeaseUpInput{1, 1, "full"}});
  at(101, {left(1, 1, 9000), submit(2)});
  ASSERT_TRUE(roster.find(1)->lease->stopping);
  at(102, {left(1, 1, 500), LeaseOverInput{1, 1, LeaseResult::kStopped, "", "", -1, 0, 0}});
  // It runs at the speed of its share; a fair one of the cluster in a line is the reference.
  EXPECT_NEAR(estimate(roster, 1).in_seconds(), 600, 60);
}

TEST(RosterReports, OnlyWhereEstimatesComeFromThem) {
  Desk desk(settings_for("1x1", "srtf"));
  desk.at(0, {submit(1)});
  desk.at(100, {left(1, 1, 9000), submit(2)});
  EXPECT_EQ(desk.state(1), "running");
  EXPECT_FALSE(desk.roster.wants_time_left());
  EXPECT_FALSE(desk.roster.wants_speeds());
}

TEST(RosterReports, OfOtherLeasesAndJobsTheyMeanNothing) {
  Desk desk(by_progress("1x1"));
  desk.at(0, {submit(1)});
  const Duration before = estimate(desk.roster, 1);
  desk.at(1, {left(1, 2, 5), left(7, 1, 5), left(1, 1, 0), left(1, 1, -3)});
  EXPECT_EQ(estimate(desk.roster, 1), before);
  desk.at(2, {ReportInput{1, 1, std::numeric_limits<std::int64_t>::max(), {}}});
  EXPECT_GT(estimate(desk.roster, 1), before);
}

TEST(RosterReports, WhatWasForeseenOutlivesASnapshotAndAHold) {
  Desk desk(by_progress("1x2"));
  desk.at(0, {submit(1), submit(2)});
  desk.at(50, {left(1, 1, 40), left(2, 1, 70)});
  const Duration one = estimate(desk.roster, 1);
  desk.at(51, {HoldInput{1}});
  desk.at(52, {ReleaseInput{1}});
  EXPECT_EQ(estimate(desk.roster, 1), one);
  Roster again(by_progress("1x2"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  for (const LiveId id : {LiveId{1}, LiveId{2}})
    EXPECT_EQ(estimate(again, id), estimate(desk.roster, id));
  Roster other(settings_for("1x2", "srtf"));
  ASSERT_TRUE(other.restore(desk.roster.state()).ok());
  EXPECT_EQ(estimate(other, 1), Estimator::kDefaultEstimate) << "not used there";
}

TEST(RosterReports, StepsAreCountedAsTheSortOfJobDoesOnOneGpu) {
  RosterSettings settings = settings_for("1x4");
  settings.planner.whole = OptimusOptions{};
  settings.engine.round = Duration::seconds(10);
  Desk desk(settings);
  SubmitInput job = submit(1);
  job.request.fewest = 1;
  job.request.most = 4;
  desk.at(0, {job, submit(2)});
  ASSERT_EQ(total_of(desk.roster.find(1)->lease->placement).gpus, 3);
  EXPECT_TRUE(desk.roster.wants_speeds());
  const auto report = [](double steps, double rate) {
    return ReportInput{1, 1, -1, ReportInput::Speed{steps, rate, 0.5, 0}};
  };
  desk.at(20, {report(500, 0)});
  EXPECT_EQ(desk.roster.find(1)->step_unit, 0) << "its pace is not known yet";
  desk.at(30, {report(1000, 50)});
  const double three = settings.profiles[ProfileId()].steps_per_second(3);
  EXPECT_DOUBLE_EQ(desk.roster.find(1)->step_unit, 50 / three);
  desk.at(40, {report(1500, 70)});
  EXPECT_DOUBLE_EQ(desk.roster.find(1)->step_unit, 50 / three) << "once and for all";
  Roster again(settings);
  const auto unkept = again.restore(desk.roster.state());
  ASSERT_TRUE(unkept.ok());
  EXPECT_TRUE(unkept.value().empty()) << "running jobs continue";
  EXPECT_DOUBLE_EQ(again.find(1)->step_unit, 50 / three);
}

}  // namespace
}  // namespace muster
