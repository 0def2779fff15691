// Estimates that are revised while jobs run and wait. The ComposedPlanner relies on stored ranks of
// running jobs that are never better than the current ranks. An upward revision must not break
// that. The reference implementation ranks every job again at every plan.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "engine/chain/composed_planner.h"
#include "engine/chain/composed_planner_testing.h"
#include "engine/core/engine.h"
#include "engine/core/engine_testing.h"
#include "tests/campaign.h"

namespace muster {
namespace {

using BlockedHeadRule = PolicyTraits::BlockedHeadRule;

// Shortest remaining time first. The reference computes every rank again at every plan.
class ShortestLeft final : public Policy {
 public:
  ShortestLeft(BlockedHeadRule when_stuck, bool preempts, bool trusts)
      : traits_{when_stuck, preempts, false, true, !trusts} {}
  PolicyTraits traits() const override { return traits_; }
  Rank rank(const JobFacts& job) const override { return {job.remaining().us()}; }
  void submitted(const JobFacts& job) override { waiting_.insert(job.id); }
  void started(const JobFacts& job) override { waiting_.erase(job.id); }
  void stopped(const JobFacts& job) override { waiting_.insert(job.id); }
  void ended(const JobFacts& job, bool) override { waiting_.erase(job.id); }
  void reviewed(Instant, std::vector<JobId>& moved) override {
    moved.assign(waiting_.begin(), waiting_.end());
  }

 private:
  PolicyTraits traits_;
  std::set<JobId> waiting_;
};

struct StepKind {
  BlockedHeadRule when_stuck = BlockedHeadRule::kSkip;
  bool preempts = true;
  std::int32_t largest = 4;  // Gang.
};

// Jobs arrive, end, and get predictions that are longer or shorter than the estimates. Nodes need
// time to stop leases.
class Life {
 public:
  Life(std::uint64_t seed, const StepKind& kind, bool trusts)
      : random_(seed),
        kind_(kind),
        topology_(parse_cluster_shorthand("2x4").value()),
        cluster_(topology_, profiles_),
        engine_(
            cluster_,
            std::make_unique<ComposedPlanner>(
                cluster_, std::make_unique<ShortestLeft>(kind.when_stuck, kind.preempts, trusts),
                std::make_unique<FairShare>(), std::make_unique<OneNode>(),
                ComposedPlannerOptions()),
            EngineOptions()) {}

  void live(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      now_ = now_ + Duration::seconds(static_cast<std::int64_t>(random_.below(60)));
      std::vector<Event> events;
      // More often with small gangs, so that some jobs wait.
      if (random_.below(4) * static_cast<std::uint64_t>(kind_.largest) < 4) {
        events.push_back(a_job());
      }
      for (auto lease = leases_.begin(); lease != leases_.end();) {
        if (random_.below(4) == 0) events.push_back(a_revision(*lease));
        const bool ends = random_.below(lease->stopping ? 2 : 15) == 0;
        if (ends) {
          events.push_back(
              LeaseEnded{lease->job, lease->epoch,
                         lease->stopping ? LeaseOutcome::kStopped : LeaseOutcome::kCompleted});
        }
        lease = ends ? leases_.erase(lease) : lease + 1;
      }
      step(events);
    }
  }

  const Engine& engine() const { return engine_; }
  Instant now() const { return now_; }
  int upwards = 0;        // Revisions of running jobs,
  int while_waiting = 0;  // and of jobs that wait again.

 private:
  struct Running {
    JobId job;
    Epoch epoch;
    bool stopping = false;
  };

  // New, or restored with its prediction.
  Event a_job() {
    JobSpec spec;
    spec.gpus =
        1 + static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(kind_.largest)));
    spec.estimate = Duration::seconds(1 + static_cast<std::int64_t>(random_.below(3000)));
    if (random_.below(3) != 0) return JobSubmitted{spec};
    JobRestored back;
    back.spec = spec;
    back.submitted = now_;
    back.estimate = Duration::seconds(1 + static_cast<std::int64_t>(random_.below(3000)));
    return back;
  }
  JobPredicted a_revision(const Running& lease) {
    const auto left = Duration::seconds(1 + static_cast<std::int64_t>(random_.below(3000)));
    const View view(engine_.state(), now_);
    if (view.is_placed(lease.job) && left > view.facts(lease.job).remaining()) ++upwards;
    if (view.job_state(lease.job) == JobState::kWaiting) ++while_waiting;
    return {lease.job, lease.epoch, left};
  }

  void step(std::vector<Event> events) {
    while (!events.empty()) {
      std::vector<Event> answers;
      for (const Action& action : engine_.step(now_, events)) {
        if (action.kind == Action::Kind::kStart) {
          leases_.push_back({action.job, action.epoch});
          answers.push_back(LeaseStarted{action.job, action.epoch});
        } else if (action.kind == Action::Kind::kStop) {
          for (Running& lease : leases_) {
            if (lease.job == action.job && lease.epoch == action.epoch) lease.stopping = true;
          }
        }
      }
      engine_.state().check_invariants();
      events = std::move(answers);
    }
  }

  Random random_;
  StepKind kind_;
  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  Engine engine_;
  Instant now_;
  std::vector<Running> leases_;
};

class Predicted : public EngineTest {
 protected:
  const Job& job() const { return engine_->state().jobs[JobId(0)]; }
};

TEST_F(Predicted, TheEstimateIsWhatIsDoneAndWhatIsLeft) {
  run_job_0();
  at(101, {JobPredicted{JobId(0), 1, Duration::micros(400)}});
  EXPECT_EQ(job().estimate, Duration::micros(500));
  EXPECT_TRUE(job().predicted);
  at(201, {JobReported{JobId(0), 1, 0.5, 0, 0, 0}});
  at(201, {JobPredicted{JobId(0), 1, Duration::micros(1000)}});
  EXPECT_EQ(job().estimate, Duration::micros(200 + 500)) << "at half the speed";
}

TEST_F(Predicted, AlsoOfALeaseThatIsStopping) {
  preempt_job_0();
  at(5, {JobPredicted{JobId(0), 1, Duration::micros(70)}});
  EXPECT_EQ(job().estimate, Duration::micros(1 + 70));
  at(9, {LeaseEnded{JobId(0), 1, kStopped}});
  at(10, {JobPredicted{JobId(0), 1, Duration::micros(5)}});
  EXPECT_EQ(job().estimate, Duration::micros(71)) << "that lease has ended";
  EXPECT_EQ(engine_->counters().stale, 1U);
}

TEST_F(Predicted, NonsenseIsIgnoredOrBounded) {
  run_job_0();
  const Duration before = job().estimate;
  at(2, {JobPredicted{JobId(0), 1, Duration()}, JobPredicted{JobId(0), 1, Duration::micros(-5)},
         JobPredicted{JobId(0), 2, Duration::seconds(1)},
         JobPredicted{JobId(9), 1, Duration::seconds(1)}});
  EXPECT_EQ(job().estimate, before);
  EXPECT_FALSE(job().predicted);
  at(3, {JobPredicted{JobId(0), 1, Duration::max()}});
  EXPECT_LE(job().estimate, kLongestDuration + Duration::seconds(1));
}

TEST_F(Predicted, ARestoredJobKeepsIt) {
  JobRestored back;
  back.spec.gpus = 2;
  back.work_done = Duration::seconds(10);
  back.estimate = Duration::seconds(30);
  at(0, {back});
  EXPECT_EQ(job().estimate, Duration::seconds(30));
  EXPECT_TRUE(job().predicted);
}

TEST(Revised, DecidesAsIfEveryRankWereAskedAnew) {
  const std::vector<StepKind> kinds = {{},
                                       {BlockedHeadRule::kWait},
                                       {BlockedHeadRule::kSkip, false},
                                       {BlockedHeadRule::kReserve, false}};
  int upwards = 0;
  int while_waiting = 0;
  for (const StepKind& kind : kinds) {
    for (std::uint64_t seed = 1; seed <= campaign_size(40, 40); ++seed) {
      SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
      Life life(seed, kind, true);
      Life reference(seed, kind, false);
      life.live(200);
      reference.live(200);
      ASSERT_EQ(life.engine().digest(), reference.engine().digest());
      EXPECT_GT(life.engine().counters().decisions, 20U);
      upwards += life.upwards;
      while_waiting += life.while_waiting;
    }
  }
  EXPECT_GT(upwards, 1000);
  EXPECT_GT(while_waiting, 100);
}

// With gangs of one GPU, the jobs with the least remaining work should run.
TEST(Revised, WhoHasTheLeastLeftRuns) {
  Life life(7, {BlockedHeadRule::kSkip, true, 1}, true);
  int compared = 0;
  for (int i = 0; i < 500; ++i) {
    life.live(1);
    const State& state = life.engine().state();
    const View view(state, life.now());
    Duration worst_placed;
    Duration best_waiting = Duration::max();
    for (std::size_t j = 0; j < state.jobs.size(); ++j) {
      const JobId job(j);
      const Duration left = view.facts(job).remaining();
      if (view.is_placed(job)) worst_placed = std::max(worst_placed, left);
      if (view.job_state(job) == JobState::kWaiting) best_waiting = std::min(best_waiting, left);
    }
    if (best_waiting == Duration::max()) continue;
    ASSERT_LE(worst_placed, best_waiting) << "at " << life.now().in_seconds();
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace muster
