#include "live/lease/profiler.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/os/testing.h"
#include "engine/roster/testing.h"

namespace muster {
namespace {

using live_testing::settings_for;
using live_testing::submit;

constexpr std::int64_t kBegin = 1'700'000'000'000'000;

// A roster with jobs that run, files they write as if time passed, and a profiler that looks.
class ProfilerTest : public ::testing::Test {
 protected:
  ProfilerTest() : roster_(with_tune()) {
    SessionOptions options;
    options.patience = Duration::seconds(20);
    profiler_.emplace(LeaseFiles(home_), options);
  }

  static RosterSettings with_tune() {
    RosterSettings settings = settings_for("1x4,cpus=2,mem=4");
    settings.planner.parts.mechanism = "tune";
    return settings;
  }

  void run(LiveId id, const char* isolation = "cgroup-v1") {
    roster_.step(Instant::micros(++now_), std::vector<Input>{submit(id)});
    roster_.step(Instant::micros(++now_), std::vector<Input>{LeaseUpInput{id, 1, isolation}});
    std::filesystem::create_directories(home_ + "/j" + std::to_string(id) + ".e1");
    limits_[id] = 0.5;
  }

  void write(LiveId id, double step) {
    const std::string path = home_ + "/j" + std::to_string(id) + ".e1/progress.jsonl";
    std::ofstream(path, std::ios::app) << "{\"step\":" << step << "}\n";
    const timespec at{unix_us_ / 1'000'000, unix_us_ % 1'000'000 * 1000};
    const timespec times[2] = {at, at};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }

  // Runs the given seconds of jobs with `steps` steps per CPU second, at most `most` per second.
  void pass(double seconds, std::map<LiveId, std::pair<double, double>> jobs) {
    for (int i = 0; i < static_cast<int>(seconds * 10); ++i) {
      unix_us_ += 100'000;
      for (const auto& [id, speeds] : jobs) {
        steps_[id] += std::min(speeds.first * limits_[id], speeds.second) / 10;
        write(id, steps_[id]);
      }
      profiler_->look(roster_, learned_, unix_us_);
      for (const Profiler::Limit& limit : profiler_->take_limits()) {
        limits_[limit.id] = static_cast<double>(total_of(limit.placement).cpu_milli) / 1000;
        least_ = std::min(least_, limits_[limit.id]);
      }
      for (Profiler::Finding& finding : profiler_->take_findings()) {
        if (finding.learned) learn(learned_, *finding.learned);
        found_.push_back(std::move(finding));
      }
    }
  }

  const Folder folder_;
  const std::string home_ = folder_.path();
  Roster roster_;
  std::optional<Profiler> profiler_;
  std::vector<LearnedProfile> learned_;
  std::vector<Profiler::Finding> found_;
  std::map<LiveId, double> limits_, steps_;
  double least_ = 9;
  std::int64_t unix_us_ = kBegin;
  std::int64_t now_ = 0;
};

TEST_F(ProfilerTest, TheFirstOfItsKindIsMeasuredAndGetsItsLimitBack) {
  run(1);
  run(2);  // The same user, name and command.
  pass(60, {{1, {1000, 100}}, {2, {1000, 100}}});
  ASSERT_EQ(found_.size(), 1U) << found_.back().kind << ": " << found_.back().words;
  EXPECT_EQ(found_[0].kind, "profiled");
  ASSERT_TRUE(found_[0].learned);
  EXPECT_NEAR(static_cast<double>(found_[0].learned->measured.curve.need()), 100, 15);
  EXPECT_EQ(found_[0].learned->measured.reach, 0);
  EXPECT_LT(least_, 0.15);
  EXPECT_EQ(limits_[1], 0.5);
  EXPECT_EQ(limits_[2], 0.5);
  EXPECT_FALSE(profiler_->busy());
}

TEST_F(ProfilerTest, WhereItStillRisesMoreIsHopedFor) {
  run(1);
  pass(60, {{1, {100, 1000}}});
  ASSERT_EQ(found_.size(), 1U);
  ASSERT_TRUE(found_[0].learned);
  EXPECT_EQ(found_[0].learned->measured.reach, 1000);  // Twice what it had, of two CPUs.
  EXPECT_NE(found_[0].words.find("speeds up further"), std::string::npos) << found_[0].words;
  const Profile profile = profile_of(found_[0].learned->measured).value();
  EXPECT_NEAR(profile.speed(1000, 1, 0) / profile.speed(500, 1, 0), 2, 0.05);
}

TEST_F(ProfilerTest, OneThatSaysNothingIsToldOnceAndLeftAlone) {
  run(1);
  pass(60, {});
  ASSERT_EQ(found_.size(), 1U);
  EXPECT_EQ(found_[0].kind, "not-profiled");
  EXPECT_EQ(found_[0].words,
            "the job has reported no progress for 20 s: its speed is unknown; it keeps its "
            "proportional share");
}

TEST_F(ProfilerTest, WithoutControlGroupsNothingIsTried) {
  run(1, "reduced: not allowed");
  pass(30, {{1, {1000, 100}}});
  ASSERT_EQ(found_.size(), 1U);
  EXPECT_EQ(found_[0].kind, "not-profiled");
  EXPECT_NE(found_[0].words.find("it keeps its proportional share"), std::string::npos);
  EXPECT_EQ(least_, 9);
}

TEST_F(ProfilerTest, AChangeOfSpeedIsToldAndMeasured) {
  run(1);
  pass(60, {{1, {1000, 100}}});
  ASSERT_EQ(found_.size(), 1U);
  pass(120, {{1, {1000, 100}}});
  EXPECT_EQ(found_.size(), 1U) << found_.back().words;
  pass(240, {{1, {100, 100}}});  // Now it wants ten times the CPU.
  ASSERT_GE(found_.size(), 3U);
  EXPECT_EQ(found_[1].kind, "drifted");
  EXPECT_EQ(found_[1].words,
            "runs at 50 steps per second, but its profile predicts 100; measuring again");
  ASSERT_TRUE(found_[2].learned);
  EXPECT_NEAR(found_[2].learned->measured.curve.at(500), 50, 2);
}

TEST_F(ProfilerTest, WhatIsStoppedInBetweenHasItsCpuBack) {
  run(1);
  pass(8, {{1, {100, 1000}}});
  ASSERT_LT(limits_[1], 0.5);
  profiler_->let_go(1);
  const std::vector<Profiler::Limit> limits = profiler_->take_limits();
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(total_of(limits[0].placement).cpu_milli, 500);
  EXPECT_FALSE(profiler_->busy());
}

TEST_F(ProfilerTest, ANumberThatIsNoSpeedIsNotLearnt) {
  run(1);
  pass(60, {{1, {1e300, 1e300}}});
  ASSERT_FALSE(found_.empty());
  EXPECT_EQ(found_[0].kind, "not-profiled");
  EXPECT_TRUE(learned_.empty());
}

// The second job waits longer than the allowed silence; then the first one has ended.
TEST_F(ProfilerTest, OneWhoWaitedForAnotherHasItsOwnTime) {
  run(1);
  run(2);
  pass(15, {});
  write(1, 1);
  pass(15, {});
  LeaseOverInput over;
  over.id = 1;
  over.lease = 1;
  roster_.step(Instant::micros(++now_), std::vector<Input>{over});
  pass(60, {{2, {1000, 100}}});
  ASSERT_EQ(found_.size(), 1U) << found_.back().words;
  EXPECT_EQ(found_[0].id, 2U);
  EXPECT_EQ(found_[0].kind, "profiled");
}

TEST_F(ProfilerTest, AClockThatGoesBackEndsWhatIsMeasured) {
  run(1);
  pass(8, {{1, {100, 1000}}});
  ASSERT_LT(limits_[1], 0.5);
  unix_us_ -= 100'000'000;
  pass(0.1, {});
  EXPECT_EQ(limits_[1], 0.5);
}

TEST_F(ProfilerTest, AJobThatNamesItsModelIsLeftAlone) {
  SubmitInput input = submit(1);
  input.request.model = "alexnet";
  roster_.step(Instant::micros(1), std::vector<Input>{input});
  roster_.step(Instant::micros(2), std::vector<Input>{LeaseUpInput{1, 1, "cgroup-v1"}});
  pass(5, {});
  EXPECT_TRUE(found_.empty());
  EXPECT_FALSE(profiler_->busy());
}

}  // namespace
}  // namespace muster
