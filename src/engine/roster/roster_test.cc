// Features of the roster in addition to the engine: holds, dependencies, arrays, pre-runs, time
// limits.

#include "engine/roster/roster.h"

#include <gtest/gtest.h>

#include "engine/roster/testing.h"

namespace muster {
namespace {

using live_testing::Desk;
using live_testing::settings_for;
using live_testing::submit;

// An array of `count` jobs with ids from `first` on; at most `at_once` of them run at the same
// time.
std::vector<Input> an_array(LiveId first, int count, int at_once) {
  std::vector<Input> inputs;
  for (int i = 0; i < count; ++i) {
    SubmitInput each = submit(first + static_cast<LiveId>(i));
    each.array = first;
    each.index = i;
    each.at_once = at_once;
    inputs.push_back(each);
  }
  return inputs;
}

TEST(Roster, AJobRunsAndEnds) {
  Desk desk(settings_for("1x2"));
  desk.at(1, {submit(1, 2)});
  EXPECT_EQ(desk.state(1), "running");
  EXPECT_EQ(desk.roster.where(desk.roster.find(1)->lease->placement), "s0:0-1");
  desk.ends_at(5, 1, LeaseResult::kFinished);
  EXPECT_EQ(desk.ends[1], "done: so it went");
  desk.at(6, {});
  EXPECT_EQ(desk.roster.find(1), nullptr);
  EXPECT_EQ(desk.story, "submitted 1, starting 1, started 1, done 1");
}

TEST(Roster, RefusesWhatCanNeverRun) {
  const Roster roster(settings_for("1x2"));
  JobRequest request;
  request.gpus = 3;
  EXPECT_NE(roster.refuse(request, "")->message.find("gpus: "), std::string::npos);
  request.gpus = 1;
  EXPECT_FALSE(roster.refuse(request, ""));
  EXPECT_TRUE(roster.refuse(request, "vision"));
  request.model = "resnet5O";
  EXPECT_NE(roster.refuse(request, "")->message.find("model: no profile"), std::string::npos);
  request.model = "";
  request.gpu_type = "b200";
  EXPECT_NE(roster.refuse(request, "")->message.find("gpu_type"), std::string::npos);
}

TEST(Roster, CancelsWaitingAndRunningJobs) {
  Desk desk(settings_for("1x1"));
  desk.at(1, {submit(1), submit(2), submit(3)});
  desk.at(2, {CancelInput{2, "ann"}});
  EXPECT_EQ(desk.ends[2], "cancelled: cancelled by ann");
  desk.at(3, {CancelInput{1, "root"}, CancelInput{99, "root"}});
  EXPECT_EQ(desk.ends[1], "cancelled: cancelled by root");
  EXPECT_EQ(desk.state(3), "running");
}

TEST(Roster, AHeldJobStopsAndKeepsItsPlace) {
  Desk desk(settings_for("1x1"));
  desk.at(1, {submit(1), submit(2)});
  desk.at(10, {HoldInput{1}});
  EXPECT_EQ(desk.state(1), "held");
  EXPECT_EQ(desk.state(2), "running");
  desk.at(11, {submit(3), ReleaseInput{1}});
  EXPECT_EQ(desk.state(1), "queued");
  desk.ends_at(20, 2, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(1), "running") << "before the younger job 3";
  EXPECT_EQ(desk.roster.find(1)->lease->number, 2U);
  // The work it had done was not forgotten.
  const auto row = *desk.roster.find(1)->row;
  EXPECT_GT(desk.roster.engine().state().jobs[row].gpu_us, 8'000'000);
}

TEST(Roster, OnlyTheLeaseThatTheSchedulerStopsIsPreempted) {
  RosterSettings settings = settings_for("1x1", "srtf");
  settings.engine.estimates = EstimateSource::Kind::kUser;
  Desk desk(std::move(settings));
  SubmitInput long_one = submit(1);
  long_one.request.estimate = Duration::seconds(10'000);
  desk.at(1, {long_one});
  SubmitInput short_one = submit(2);
  short_one.request.estimate = Duration::seconds(10);
  const auto outcome = [&](std::int64_t second, const Input& cause, LiveId id) -> std::string {
    desk.roster.step(Instant::at(Duration::seconds(second)), std::vector<Input>{cause});
    const std::vector<Input> over = {desk.over(id, LeaseResult::kStopped)};
    desk.roster.step(Instant::at(Duration::seconds(second + 1)), over);
    return desk.roster.over().empty() ? "" : desk.roster.over()[0].end.words;
  };
  EXPECT_EQ(outcome(200, short_one, 1), "preempted");
  EXPECT_EQ(outcome(300, HoldInput{2}, 2), "so it went");
}

TEST(Roster, ReleasedBeforeItHasStoppedItRunsAgain) {
  for (const LeaseResult fate : {LeaseResult::kStopped, LeaseResult::kFailed, LeaseResult::kLost}) {
    Desk desk(settings_for("1x1"));
    desk.at(1, {submit(1)});
    desk.roster.step(Instant::at(Duration::seconds(10)), std::vector<Input>{HoldInput{1}});
    EXPECT_EQ(desk.state(1), "stopping");
    desk.roster.step(Instant::at(Duration::seconds(11)), std::vector<Input>{ReleaseInput{1}});
    desk.ends_at(12, 1, fate);
    EXPECT_EQ(desk.state(1), "running") << fate_name(fate);
    EXPECT_EQ(desk.roster.find(1)->lease->number, 2U);
  }
}

TEST(Roster, APreRunReleasedBeforeItHasStoppedComesAgain) {
  Desk desk(settings_for("1x4"));
  SubmitInput tried = submit(1, 4);
  tried.request.prerun = Duration::seconds(60);
  desk.at(1, {tried});
  desk.at(10, {HoldInput{1}, ReleaseInput{1}});
  EXPECT_EQ(desk.state(1), "running");
  EXPECT_TRUE(desk.roster.find(1)->lease->trial);
  EXPECT_EQ(desk.roster.find(1)->lease->number, 2U);
}

TEST(Roster, SubmittedHeldWaitsForItsRelease) {
  Desk desk(settings_for("1x1"));
  SubmitInput held = submit(1);
  held.request.hold = true;
  desk.at(1, {held});
  EXPECT_EQ(desk.state(1), "held");
  desk.at(2, {ReleaseInput{1}, HoldInput{1}, ReleaseInput{1}});
  EXPECT_EQ(desk.state(1), "running");
}

TEST(Roster, DependenciesWaitForEnds) {
  Desk desk(settings_for("1x4"));
  SubmitInput after_ok = submit(2);
  after_ok.request.after_ok = {1};
  SubmitInput after_any = submit(3);
  after_any.request.after_any = {1};
  SubmitInput chained = submit(4);
  chained.request.after_ok = {2};
  desk.at(1, {submit(1), after_ok, after_any, chained});
  EXPECT_EQ(desk.state(2), "blocked");
  EXPECT_EQ(desk.state(3), "blocked");
  desk.ends_at(5, 1, LeaseResult::kFailed);
  EXPECT_EQ(desk.state(3), "running");
  EXPECT_EQ(desk.ends[2], "cancelled: dependency job 1 failed");
  EXPECT_EQ(desk.ends[4], "cancelled: dependency job 2 failed");
}

TEST(Roster, LongChainsOfDependenciesEndOneByOne) {
  Desk desk(settings_for("1x1"));
  std::vector<Input> inputs = {submit(1)};
  for (LiveId id = 2; id < 50'000; ++id) {
    SubmitInput next = submit(id);
    next.request.after_ok = {id - 1};
    inputs.push_back(next);
  }
  desk.at(1, inputs);
  desk.at(2, {CancelInput{1, "ann"}});
  EXPECT_EQ(desk.ends.size(), 49'999U);
}

TEST(Roster, AnArrayRunsSoManyAtOnce) {
  Desk desk(settings_for("1x4"));
  desk.at(1, an_array(10, 5, 2));
  EXPECT_EQ(desk.machine.leases.size(), 2U);
  EXPECT_EQ(desk.state(12), "blocked");
  desk.ends_at(2, 10, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(12), "running");
  desk.at(3, {CancelInput{13, "ann"}});
  desk.ends_at(4, 11, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(14), "running");
  EXPECT_EQ(desk.machine.leases.size(), 2U);
}

TEST(Roster, HoldingAMemberOfAnArrayTwiceDoesNotLetItInTwice) {
  Desk desk(settings_for("1x4"));
  desk.at(1, an_array(1, 4, 1));
  for (int i = 0; i < 3; ++i) {
    desk.at(2, {HoldInput{3}});
    desk.at(2, {ReleaseInput{3}});
  }
  desk.at(3, {HoldInput{2}, HoldInput{4}, ReleaseInput{4}});
  desk.ends_at(4, 1, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(3), "running");
  desk.ends_at(5, 3, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(4), "running");
  desk.ends_at(6, 4, LeaseResult::kFinished);
  EXPECT_TRUE(desk.machine.leases.empty());
  desk.at(7, {ReleaseInput{2}});
  desk.ends_at(8, 2, LeaseResult::kFinished);
  EXPECT_TRUE(desk.roster.engine().state().placed.empty());
  EXPECT_EQ(desk.ends.size(), 4U);
}

TEST(Roster, APlaceInTheQueueIsByTheTimeOfSubmission) {
  Desk desk(settings_for("1x1"));
  SubmitInput held = submit(2);
  held.request.hold = true;
  desk.at(1, {submit(1)});
  desk.at(2, {held});
  desk.at(3, {submit(3)});
  desk.at(4, {ReleaseInput{2}});
  desk.ends_at(5, 1, LeaseResult::kFinished);
  EXPECT_EQ(desk.state(2), "running") << "as after a restart, which knows no other time";
}

TEST(Roster, ATrialThatIsLostAgainAndAgainIsGivenUp) {
  Desk desk(settings_for("1x1"));
  SubmitInput tried = submit(1);
  tried.request.prerun = Duration::seconds(60);
  desk.at(1, {tried});
  for (int i = 0; i < 4; ++i) {
    desk.ends_at(10 * (i + 1), 1, LeaseResult::kLost);
    desk.at(10 * (i + 1) + 5, {TickInput{}});
  }
  EXPECT_EQ(desk.ends[1], "failed: its processes were lost repeatedly");
  EXPECT_TRUE(desk.machine.leases.empty());
}

TEST(Roster, APreRunComesFirstAndCatchesErrors) {
  Desk desk(settings_for("1x4"));
  SubmitInput good = submit(1, 4);
  good.request.prerun = Duration::seconds(60);
  desk.at(1, {good});
  EXPECT_TRUE(desk.roster.find(1)->lease->trial);
  EXPECT_EQ(total_of(desk.roster.find(1)->lease->placement).gpus, 1);
  desk.ends_at(61, 1, LeaseResult::kTimeLimit);
  EXPECT_EQ(desk.state(1), "running");
  EXPECT_FALSE(desk.roster.find(1)->lease->trial);
  EXPECT_EQ(desk.roster.find(1)->lease->number, 2U);
  EXPECT_EQ(total_of(desk.roster.find(1)->lease->placement).gpus, 4);
  desk.ends_at(100, 1, LeaseResult::kFinished);
  SubmitInput bad = submit(2, 4);
  bad.request.prerun = Duration::seconds(60);
  desk.at(101, {bad});
  desk.ends_at(102, 2, LeaseResult::kFailed);
  EXPECT_EQ(desk.ends[2], "failed: pre-run: so it went");
}

TEST(Roster, TimeLimitsCountAllLeases) {
  Desk desk(settings_for("1x1"));
  SubmitInput limited = submit(1);
  limited.request.time_limit = Duration::seconds(100);
  desk.roster.step(Instant::at(Duration::seconds(1)), std::vector<Input>{limited});
  EXPECT_EQ(desk.roster.orders()[0].time_limit, Duration::seconds(100));
  desk.at(1, {LeaseUpInput{1, 1, "full"}});
  desk.at(31, {HoldInput{1}});
  desk.at(31, {desk.over(1, LeaseResult::kStopped)});
  const std::vector<Input> release = {ReleaseInput{1}};
  desk.roster.step(Instant::at(Duration::seconds(40)), release);
  ASSERT_EQ(desk.roster.orders().size(), 1U);
  EXPECT_EQ(desk.roster.orders()[0].time_limit, Duration::seconds(70));
  desk.at(41, {desk.over(1, LeaseResult::kTimeLimit)});
  EXPECT_EQ(desk.ends[1], "failed: time limit of 100.0 s reached");
  desk.at(42, {submit(2)});
  EXPECT_EQ(desk.state(2), "running") << "nothing of job 1 is left in the engine";
}

TEST(Roster, TimeLimitsCountWhatTheShimSays) {
  Desk desk(settings_for("1x1"));
  SubmitInput limited = submit(1);
  limited.request.time_limit = Duration::seconds(100);
  desk.at(1, {limited});
  desk.machine.leases.clear();
  LeaseOverInput over = desk.over(1, LeaseResult::kStopped);  // Ended while the manager was down.
  over.ran_ms = 30'000;
  desk.roster.step(Instant::at(Duration::seconds(86'400)), std::vector<Input>{over});
  ASSERT_EQ(desk.roster.orders().size(), 1U);
  EXPECT_EQ(desk.roster.orders()[0].time_limit, Duration::seconds(70));
}

TEST(Roster, FailuresAreTriedAgainAsTheJobSays) {
  Desk desk(settings_for("1x1"));
  SubmitInput stubborn = submit(1);
  stubborn.request.retries = 1;
  desk.at(1, {stubborn});
  desk.ends_at(2, 1, LeaseResult::kFailed, "traceback");
  EXPECT_EQ(desk.state(1), "running");
  desk.ends_at(3, 1, LeaseResult::kFailed, "traceback");
  EXPECT_EQ(desk.ends[1],
            "failed: so it went: traceback on attempt 2; not retried: no retries left");
}

TEST(Roster, LostLeasesAreNoFailuresUntilThereAreManyInARow) {
  Desk desk(settings_for("1x1"));
  desk.at(1, {submit(1)});
  std::int64_t at = 2;
  for (const std::int64_t wait : {1, 2, 4}) {
    desk.ends_at(at, 1, LeaseResult::kLost);
    EXPECT_EQ(desk.state(1), "retrying");
    EXPECT_EQ(desk.roster.wake(), Instant::at(Duration::seconds(at + wait)));
    at += wait;
    desk.at(at, {TickInput{}});
    EXPECT_EQ(desk.state(1), "running");
  }
  desk.ends_at(at + 1, 1, LeaseResult::kLost);
  EXPECT_EQ(desk.ends[1], "failed: its processes were lost repeatedly");
}

TEST(Roster, AJobThatSaysSoFailsWhenItsServerIsLost) {
  Desk desk(settings_for("1x1"));
  SubmitInput once = submit(1);
  once.request.on_lost.then = OnLost::Then::kFail;
  desk.at(1, {once});
  desk.ends_at(2, 1, LeaseResult::kLost);
  EXPECT_EQ(desk.ends[1], "failed: its node was lost, and on_lost is 'fail'");
  once.id = 2;
  once.request.prerun = Duration::seconds(60);
  desk.at(3, {once});
  desk.ends_at(4, 2, LeaseResult::kLost);
  EXPECT_EQ(desk.ends[2], "failed: its node was lost, and on_lost is 'fail'");
  once.id = 3;
  once.request.prerun = Duration();
  desk.at(5, {once});
  desk.roster.step(Instant::at(Duration::seconds(6)), std::vector<Input>{HoldInput{3}});
  desk.ends_at(7, 3, LeaseResult::kLost);
  EXPECT_EQ(desk.state(3), "held") << "it had to stop anyway";
}

TEST(Roster, ADrainedServerTakesNoJobs) {
  Desk desk(settings_for("1x1"));
  desk.at(1, {DrainInput{"s0", false}, submit(1)});
  EXPECT_EQ(desk.state(1), "queued");
  desk.at(2, {DrainInput{"s0", true}});
  EXPECT_EQ(desk.state(1), "running");
}

Instant second(std::int64_t count) { return Instant::at(Duration::seconds(count)); }

TEST(Roster, ADrainEndsWhenItsMaintenanceDoes) {
  Desk desk(settings_for("1x1"));
  desk.at(1, {DrainInput{"s0", false, second(100)}, submit(1)});
  EXPECT_EQ(desk.heard.front().words, "s0 takes no new jobs for 99 s");
  EXPECT_EQ(desk.roster.wake(), second(100));
  desk.at(99, {TickInput{}});
  EXPECT_EQ(desk.state(1), "queued");
  desk.at(100, {TickInput{}});
  EXPECT_EQ(desk.state(1), "running");
  EXPECT_NE(desk.story.find("maintenance-ended 0"), std::string::npos) << desk.story;
  EXPECT_TRUE(desk.roster.drain_ends().empty());
  EXPECT_EQ(desk.roster.wake(), Instant::never());
}

TEST(Roster, ALaterDrainReplacesTheEndAndUndrainEndsItSooner) {
  Desk desk(settings_for("1x1"));
  desk.at(1, {DrainInput{"s0", false, second(100)}, submit(1)});
  desk.at(2, {DrainInput{"s0", false, second(200)}});
  const std::size_t heard = desk.heard.size();
  desk.at(3, {DrainInput{"s0", false, second(200)}});
  EXPECT_EQ(desk.heard.size(), heard) << "a repeated drain is ignored";
  desk.at(100, {TickInput{}});
  EXPECT_EQ(desk.state(1), "queued");
  desk.at(101, {DrainInput{"s0", false}});
  EXPECT_TRUE(desk.roster.drain_ends().empty());
  desk.at(200, {TickInput{}});
  EXPECT_EQ(desk.state(1), "queued") << "the last drain has no end";
  desk.at(201, {DrainInput{"s0", false, second(300)}});
  desk.at(202, {DrainInput{"s0", true}});
  EXPECT_EQ(desk.state(1), "running");
  EXPECT_EQ(desk.roster.wake(), Instant::never());
}

TEST(Roster, ARestoredRosterKnowsTheEndOfAMaintenance) {
  Desk desk(settings_for("2x1"));
  desk.at(1, {DrainInput{"s0", false, second(100)}, DrainInput{"s1", false}, submit(1)});
  Roster again(settings_for("2x1"));
  ASSERT_TRUE(again.restore(desk.roster.state()).ok());
  EXPECT_EQ(again.wake(), second(100));
  again.step(second(500), std::vector<Input>{TickInput{}});
  EXPECT_FALSE(again.is_drained(NodeId(0)));
  EXPECT_TRUE(again.is_drained(NodeId(1)));
  EXPECT_EQ(again.orders().size(), 1U);
}

TEST(Roster, NewsOfOldLeasesIsIgnored) {
  Desk desk(settings_for("1x1"));
  desk.at(1, {submit(1)});
  LeaseOverInput old = desk.over(1, LeaseResult::kFinished);
  old.lease = 7;
  desk.at(2, {old, LeaseUpInput{5, 1, ""}, SavedInput{5, 1}});
  EXPECT_EQ(desk.state(1), "running");
}

}  // namespace
}  // namespace muster
