// Rules of the imitated simulators that differ from Muster's own. tests/golden_test.cc compares
// whole runs with the published results.

#include "sim/compat/compat.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/core/engine.h"
#include "engine/core/world_testing.h"

namespace muster {
namespace {

// An engine that imitates a simulator on a small cluster. Orders take effect immediately.
class Imitation {
 public:
  Imitation(Compat compat, std::string_view shorthand, const PlannerOptions& options,
            Duration round = {})
      : topology_(parse_cluster_shorthand(shorthand).value()), cluster_(topology_, profiles_) {
    MadePlanner made = make_compat_planner(cluster_, options, compat);
    EngineOptions settings;
    settings.pooling = made.pooling;
    settings.round = round;
    settings.plan_idle_rounds = traits_of(compat).plans_idle_rounds;
    engine_.emplace(cluster_, std::move(made.planner), settings);
  }

  // Applies events at this second and returns the actions, such as "stop 0, start 1 on 0:2".
  std::string at(std::int64_t second, std::vector<Event> events) {
    const Instant now = muster::second(second);
    if (wake_ == now) events.push_back(TimerFired{});
    std::string text;
    carry_out(*engine_, now, std::move(events), [&](const Action& action) {
      const std::string number = std::to_string(action.job.index());
      if (action.kind == Action::Kind::kStart) {
        text += ", start " + number + " on " + placement_text(engine_->lease(action.job).placement);
      }
      if (action.kind == Action::Kind::kStop) text += ", stop " + number;
      if (action.kind == Action::Kind::kWakeAt) wake_ = action.at;
    });
    return text.empty() ? text : text.substr(2);
  }
  Instant wake() const { return wake_; }

 private:
  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  std::optional<Engine> engine_;
  Instant wake_ = Instant::never();
};

PlannerOptions parts(std::string policy, std::string mechanism, std::string placement) {
  PlannerOptions options;
  options.parts = {std::move(policy), std::move(mechanism), std::move(placement)};
  options.policy.promote_permille = 0;
  return options;
}

TEST(Compat, NamesOfSimulators) {
  EXPECT_EQ(parse_compat("").value(), Compat::kNone);
  EXPECT_EQ(parse_compat("tiresias").value(), Compat::kTiresias);
  EXPECT_EQ(parse_compat("synergy").value(), Compat::kSynergy);
  EXPECT_EQ(traits_of(Compat::kSynergy).name, "synergy");
  const Result<Compat> wrong = parse_compat("synergi");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "--compat: unknown simulator 'synergi'; did you mean 'synergy'?");
}

TEST(Compat, PercentilesAreThoseOfNumpy) {
  EXPECT_EQ(numpy_percentile({7}, 99), 7);
  EXPECT_EQ(numpy_percentile({0, 10}, 50), 5);
  EXPECT_EQ(numpy_percentile({0, 10, 20}, 95), 19);
  EXPECT_EQ(numpy_percentile({0, 10, 20}, 100), 20);
  // The product of this difference and a percentage does not fit in 64 bits.
  constexpr std::int64_t kLong = std::int64_t{1} << 62;
  EXPECT_EQ(numpy_percentile({0, kLong}, 75), kLong / 4 * 3);
}

// Tiresias' simulator sorts one list at every event and keeps the order of equal jobs. Job 2 does
// not fit beside job 1. When job 1 ends, job 0 has just reached the remaining time of job 2.
TEST(TiresiasCompat, AWaitingJobWinsATieAgainstARunningJob) {
  Imitation theirs(Compat::kTiresias, "1x2", parts("srtf", "proportional", "count"));
  Imitation ours(Compat::kNone, "1x2", parts("srtf", "proportional", "count"));
  for (Imitation* each : {&theirs, &ours}) {
    EXPECT_EQ(each->at(0, {job_of(1, 200), job_of(1, 50), job_of(2, 150)}),
              "start 1 on 0:1, start 0 on 0:1");
  }
  EXPECT_EQ(theirs.at(50, {completed(1)}), "stop 0, start 2 on 0:2");
  EXPECT_EQ(ours.at(50, {completed(1)}), "");
}

TEST(TiresiasCompat, ANewJobLosesATieAgainstARunningJob) {
  Imitation theirs(Compat::kTiresias, "1x1", parts("srtf", "proportional", "count"));
  EXPECT_EQ(theirs.at(0, {job_of(1, 100)}), "start 0 on 0:1");
  EXPECT_EQ(theirs.at(50, {job_of(1, 50)}), "");
}

// After one quantum each, both jobs have the same attained service.
TEST(TiresiasCompat, TheOlderJobWinsATieOfAttainedService) {
  Imitation theirs(Compat::kTiresias, "1x1", parts("las", "proportional", "count"));
  Imitation ours(Compat::kNone, "1x1", parts("las", "proportional", "count"));
  const std::int64_t quantum = EngineOptions().quantum.us() / 1'000'000;
  for (Imitation* each : {&theirs, &ours}) {
    EXPECT_EQ(each->at(0, {job_of(1, 1000), job_of(1, 1000)}), "start 0 on 0:1");
    EXPECT_EQ(each->at(quantum, {}), "stop 0, start 1 on 0:1");
  }
  EXPECT_EQ(theirs.at(2 * quantum, {}), "stop 1, start 0 on 0:1");
  EXPECT_EQ(ours.at(2 * quantum, {}), "");
}

// After a preemption, Tiresias' simulator checks too late whether a job must be demoted: after
// (limit - run time) / GPUs instead of (limit - GPU time) / GPUs.
TEST(TiresiasCompat, ChecksForDemotionTooLateAfterAPreemption) {
  PlannerOptions options = parts("mlfq-las", "proportional", "count");
  options.policy.thresholds = {Duration::seconds(100), Duration::seconds(200)};
  Imitation theirs(Compat::kTiresias, "1x2", options);
  EXPECT_EQ(theirs.at(0, {job_of(2, 1000)}), "start 0 on 0:2");
  EXPECT_EQ(theirs.at(50, {job_of(2, 1000)}), "stop 0, start 1 on 0:2");
  EXPECT_EQ(theirs.at(80, {completed(1)}), "start 0 on 0:2");
  EXPECT_EQ(theirs.wake(), second(80 + 75)) << "(200 - 50) / 2";
}

// Synergy's simulator discards all placements in each round and places all jobs again in order.
TEST(SynergyCompat, MovesARunningJobToTheFirstFreePlace) {
  const Duration round = Duration::seconds(300);
  Imitation theirs(Compat::kSynergy, "2x1", parts("fifo", "proportional", "first-fit"), round);
  Imitation ours(Compat::kNone, "2x1", parts("fifo", "proportional", "first-fit"), round);
  for (Imitation* each : {&theirs, &ours}) {
    EXPECT_EQ(each->at(0, {job_of(1, 300), job_of(1, 900)}), "start 0 on 0:1, start 1 on 1:1");
    EXPECT_EQ(each->at(299, {completed(0)}), "");
  }
  EXPECT_EQ(theirs.at(300, {}), "stop 1, start 1 on 0:1");
  EXPECT_EQ(ours.at(300, {}), "");
}

TEST(SynergyCompat, SkipsAJobThatDoesNotFitAndKeepsItWaiting) {
  const Duration round = Duration::seconds(300);
  Imitation theirs(Compat::kSynergy, "1x4", parts("fifo", "proportional", "first-fit"), round);
  EXPECT_EQ(theirs.at(0, {job_of(3, 300), job_of(2, 300), job_of(1, 300)}),
            "start 0 on 0:3, start 2 on 0:1");
  EXPECT_EQ(theirs.at(300, {completed(0), completed(2)}), "start 1 on 0:2");
}

TEST(SynergyCompat, RejectsAJobThatCanNeverRun) {
  Imitation theirs(Compat::kSynergy, "1x4", parts("srtf", "tune", "first-fit"),
                   Duration::seconds(300));
  EXPECT_EQ(theirs.at(0, {job_of(5, 300), job_of(4, 300)}), "start 1 on 0:4");
}

TEST(SynergyCompat, FirstRound) {
  Trace trace;
  const Duration round = Duration::seconds(300);
  EXPECT_EQ(first_round(trace, round, Compat::kSynergy), Instant()) << "no jobs";
  trace.jobs.resize(2);
  EXPECT_EQ(first_round(trace, round, Compat::kSynergy), second(1)) << "all jobs at the start";
  trace.jobs[0].submit = second(301);
  trace.jobs[1].submit = second(800);
  EXPECT_EQ(first_round(trace, round, Compat::kSynergy), second(600));
  EXPECT_EQ(first_round(trace, round, Compat::kTiresias), Instant());
}

}  // namespace
}  // namespace muster
