#include "engine/core/draft.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "engine/core/engine.h"

namespace muster {
namespace {

using PlanScript = std::function<void(const View&, Draft&)>;

// Runs the script of the test once.
class DraftScript final : public Planner {
 public:
  void will(PlanScript script) { script_ = std::move(script); }

  std::optional<std::string> refuse(const JobSpec& spec) override {
    if (spec.gpus > 10) return "too large";
    return std::nullopt;
  }
  void enqueue(const View&, JobId) override {}
  void forget(const View&, JobId, JobExit) override {}
  bool drifts() const override { return false; }
  void plan(const View& view, Draft& draft, PlanTrigger) override {
    if (script_) std::exchange(script_, nullptr)(view, draft);
  }

 private:
  PlanScript script_;
};

Topology three_nodes() {
  Topology topology;
  MUSTER_CHECK(!topology.add_node("s0", "r", "a", {4, 4000, 400, 40}));
  MUSTER_CHECK(!topology.add_node("s1", "r", "a", {4, 4000, 400, 40}));
  MUSTER_CHECK(!topology.add_node("s2", "r", "b", {2, 2000, 200, 20}));
  return topology;
}

// Jobs 0 and 1 run on s0, two GPUs each. Jobs 2 (two GPUs) and 3 (one GPU of type b) wait. Job 4 is
// completed, 5 cancelled, 6 rejected.
class DraftTest : public testing::Test {
 protected:
  static constexpr JobId kRunning = JobId(0);
  static constexpr JobId kNeighbour = JobId(1);
  static constexpr JobId kWaiting = JobId(2);
  static constexpr JobId kPicky = JobId(3);
  static constexpr JobId kDone = JobId(4);
  static constexpr JobId kCancelled = JobId(5);
  static constexpr JobId kRejected = JobId(6);
  static constexpr JobId kUnknown = JobId(7);
  const Placement kHeld = {{NodeId(0), 0b0011, 1000, 100, 10}};
  const Placement kHeldByNeighbour = {{NodeId(0), 0b1100, 3000, 300, 30}};
  const Placement kFree = {{NodeId(1), 0b0011, 1000, 100, 10}};

  DraftTest() {
    for (const std::int32_t gpus : {2, 2, 2, 1, 1, 1, 11}) {
      JobSpec spec;
      spec.gpus = gpus;
      if (gpus == 1 && engine_.state().jobs.size() == 3) spec.gpu_type = GpuTypeId(1);
      happen({JobSubmitted{spec}});
    }
    plan([&](const View&, Draft& draft) {
      ASSERT_TRUE(draft.start(kRunning, kHeld));
      ASSERT_TRUE(draft.start(kNeighbour, kHeldByNeighbour));
      ASSERT_TRUE(draft.start(kDone, {{NodeId(1), 1, 0, 0, 0}}));
    });
    happen({LeaseStarted{kRunning, 1}, LeaseStarted{kNeighbour, 1},
            LeaseEnded{kDone, 1, LeaseOutcome::kCompleted}, JobCancelled{kCancelled}});
  }

  static EngineOptions every_step() {
    EngineOptions options;
    options.round = Duration::micros(1);
    options.plan_idle_rounds = true;
    return options;
  }

  // The actions except wake-ups.
  std::vector<Action> happen(const std::vector<Event>& events) {
    now_ = now_ + Duration::micros(1);
    std::vector<Action> orders;
    for (const Action& action : engine_.step(now_, events)) {
      if (action.kind != Action::Kind::kWakeAt) orders.push_back(action);
    }
    engine_.state().check_invariants();
    return orders;
  }
  std::vector<Action> plan(PlanScript script) {
    planner_->will(std::move(script));
    return happen({});
  }

  const Topology topology_ = three_nodes();
  const ProfileTable profiles_;
  const Cluster cluster_{topology_, profiles_};
  DraftScript* planner_ = new DraftScript;  // Owned by the engine.
  Engine engine_{cluster_, std::unique_ptr<DraftScript>(planner_), every_step()};
  Instant now_;
};

// Everything that a draft may change, for comparison.
struct EngineSnapshot {
  std::vector<SlotMask> slots;
  std::vector<std::int64_t> rooms;
  std::vector<Placement> placements;

  friend bool operator==(const EngineSnapshot&, const EngineSnapshot&) = default;
};
EngineSnapshot picture(const View& view, const Draft& draft) {
  EngineSnapshot result;
  for (std::size_t i = 0; i < view.cluster().topology().node_count(); ++i) {
    const ResourceLedger::Room& room = draft.ledger().room(NodeId(i));
    result.slots.push_back(draft.ledger().free_slots(NodeId(i)));
    result.rooms.insert(result.rooms.end(), {room.cpu_milli, room.mem_mib, room.storage_kbps});
  }
  for (std::size_t i = 0; i < view.job_count(); ++i) {
    const Placement* held = draft.placement(JobId(i));
    result.placements.push_back(held == nullptr ? Placement{} : *held);
  }
  return result;
}

TEST_F(DraftTest, RefusesPlacementsThatBreakAConstraint) {
  const std::vector<std::pair<const char*, Placement>> bad = {
      {"empty", {}},
      {"too few GPUs", {{NodeId(1), 0b1, 0, 0, 0}}},
      {"too many GPUs", {{NodeId(1), 0b111, 0, 0, 0}}},
      {"a share without GPUs", {{NodeId(1), 0b11, 0, 0, 0}, {NodeId(2), 0, 0, 0, 0}}},
      {"slots of the neighbour", {{NodeId(0), 0b1100, 0, 0, 0}}},
      {"one slot of the neighbour", {{NodeId(0), 0b0110, 0, 0, 0}}},
      {"slots that the node does not have", {{NodeId(2), 0b110, 0, 0, 0}}},
      {"no such node", {{NodeId(3), 0b11, 0, 0, 0}}},
      {"too many CPUs", {{NodeId(1), 0b11, 4001, 0, 0}}},
      {"too much memory", {{NodeId(1), 0b11, 0, 401, 0}}},
      {"too much storage", {{NodeId(1), 0b11, 0, 0, 41}}},
      {"negative CPUs", {{NodeId(1), 0b11, -1, 0, 0}}},
      {"negative memory", {{NodeId(1), 0b11, 0, -1, 0}}},
      {"negative storage", {{NodeId(1), 0b11, 0, 0, -1}}},
      {"huge", {{NodeId(1), 0b11, INT64_MAX, INT64_MAX, INT64_MAX}}},
      {"nodes out of order", {{NodeId(2), 1, 0, 0, 0}, {NodeId(1), 1, 0, 0, 0}}},
      {"one node twice", {{NodeId(1), 1, 0, 0, 0}, {NodeId(1), 2, 0, 0, 0}}},
      {"second share bad", {{NodeId(1), 1, 0, 0, 0}, {NodeId(2), 1, 2001, 0, 0}}},
  };
  const std::vector<Action> orders = plan([&](const View& view, Draft& draft) {
    const EngineSnapshot before = picture(view, draft);
    for (const auto& [what, placement] : bad) {
      EXPECT_FALSE(draft.start(kWaiting, placement)) << what;
      EXPECT_FALSE(draft.replace(kRunning, placement)) << what;
      EXPECT_TRUE(picture(view, draft) == before) << what << " changed something";
    }
  });
  EXPECT_TRUE(orders.empty());
}

TEST_F(DraftTest, RefusesOtherGpuTypesThanAskedFor) {
  plan([&](const View&, Draft& draft) {
    EXPECT_FALSE(draft.start(kPicky, {{NodeId(1), 0b1, 0, 0, 0}}));
    EXPECT_TRUE(draft.start(kPicky, {{NodeId(2), 0b1, 0, 0, 0}}));
    EXPECT_FALSE(draft.replace(kPicky, {{NodeId(1), 0b1, 0, 0, 0}}));
  });
  EXPECT_EQ(engine_.state().jobs[kPicky].state, JobState::kPlaced);
}

TEST_F(DraftTest, RefusesJobsInTheWrongState) {
  const Placement one = {{NodeId(1), 0b1, 0, 0, 0}};
  const std::vector<Action> orders = plan([&](const View& view, Draft& draft) {
    const EngineSnapshot before = picture(view, draft);
    for (const JobId job : {kDone, kCancelled, kRejected, kUnknown, JobId(4'000'000'000U)}) {
      EXPECT_FALSE(draft.start(job, one)) << job.index();
      EXPECT_FALSE(draft.stop(job)) << job.index();
      EXPECT_FALSE(draft.replace(job, one)) << job.index();
    }
    EXPECT_FALSE(draft.start(kRunning, kFree)) << "it holds a lease";
    EXPECT_FALSE(draft.stop(kWaiting)) << "it holds none";
    EXPECT_FALSE(draft.replace(kWaiting, kFree)) << "it holds none";
    EXPECT_TRUE(picture(view, draft) == before);
  });
  EXPECT_TRUE(orders.empty());
}

TEST_F(DraftTest, StartsAWaitingJobOnceOnly) {
  const std::vector<Action> orders = plan([&](const View&, Draft& draft) {
    EXPECT_EQ(draft.placement(kWaiting), nullptr);
    EXPECT_TRUE(draft.start(kWaiting, kFree));
    ASSERT_NE(draft.placement(kWaiting), nullptr);
    EXPECT_EQ(*draft.placement(kWaiting), kFree);
    EXPECT_FALSE(draft.start(kWaiting, {{NodeId(1), 0b1100, 0, 0, 0}}));
    EXPECT_EQ(draft.ledger().free_slots(NodeId(1)), 0b1100U);
  });
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Action::Kind::kStart);
  EXPECT_EQ(orders[0].job, kWaiting);
  EXPECT_EQ(orders[0].epoch, 1U);
  EXPECT_EQ(engine_.lease(kWaiting).placement, kFree);
}

TEST_F(DraftTest, GivesWhatAStoppedJobHeldToAnother) {
  const std::vector<Action> orders = plan([&](const View&, Draft& draft) {
    EXPECT_TRUE(draft.stop(kRunning));
    EXPECT_EQ(draft.placement(kRunning), nullptr);
    EXPECT_FALSE(draft.stop(kRunning)) << "already stopped";
    EXPECT_TRUE(draft.start(kWaiting, kHeld));
  });
  ASSERT_EQ(orders.size(), 1U) << "the new job starts when the other lease has ended";
  EXPECT_EQ(orders[0].kind, Action::Kind::kStop);
  EXPECT_EQ(orders[0].job, kRunning);
  EXPECT_EQ(engine_.state().jobs[kRunning].state, JobState::kWaiting);
  EXPECT_EQ(engine_.lease(kWaiting).state, Lease::State::kPromised);
}

TEST_F(DraftTest, ForgetsStopsThatMakeRoomForNobody) {
  const std::vector<Action> orders = plan([&](const View&, Draft& draft) {
    EXPECT_TRUE(draft.stop(kRunning));
    EXPECT_TRUE(draft.stop(kNeighbour));
    EXPECT_TRUE(draft.start(kWaiting, kHeldByNeighbour));
  });
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].job, kNeighbour) << "the other one blocked no job";
  EXPECT_EQ(engine_.lease(kRunning).state, Lease::State::kRunning);
}

TEST_F(DraftTest, ForgetsAStartThatIsTakenBack) {
  const std::vector<Action> orders = plan([&](const View&, Draft& draft) {
    EXPECT_TRUE(draft.start(kWaiting, kFree));
    EXPECT_TRUE(draft.stop(kWaiting));
  });
  EXPECT_TRUE(orders.empty());
  EXPECT_EQ(engine_.state().jobs[kWaiting].state, JobState::kWaiting);
  EXPECT_EQ(engine_.state().jobs[kWaiting].epoch, 0U);
}

TEST_F(DraftTest, ReplacingOnTheSameSlotsIsAResize) {
  const Placement more = {{NodeId(0), 0b0011, 900, 50, 5}};
  const std::vector<Action> orders =
      plan([&](const View&, Draft& draft) { EXPECT_TRUE(draft.replace(kRunning, more)); });
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Action::Kind::kResize);
  EXPECT_EQ(orders[0].epoch, 1U) << "the same lease";
  EXPECT_EQ(engine_.lease(kRunning).placement, more);
}

TEST_F(DraftTest, ReplacingWithTheSameChangesNothing) {
  const std::vector<Action> orders =
      plan([&](const View&, Draft& draft) { EXPECT_TRUE(draft.replace(kRunning, kHeld)); });
  EXPECT_TRUE(orders.empty());
}

TEST_F(DraftTest, ReplacingOnOtherSlotsIsAMove) {
  const Placement half_own = {{NodeId(0), 0b0001, 0, 0, 0}, {NodeId(1), 0b0001, 0, 0, 0}};
  std::vector<Action> orders =
      plan([&](const View&, Draft& draft) { EXPECT_TRUE(draft.replace(kRunning, half_own)); });
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Action::Kind::kStop);
  EXPECT_EQ(engine_.state().jobs[kRunning].state, JobState::kPlaced) << "it does not wait again";
  orders = happen({LeaseEnded{kRunning, 1, LeaseOutcome::kStopped}});
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].kind, Action::Kind::kStart);
  EXPECT_EQ(orders[0].epoch, 2U);
}

TEST_F(DraftTest, TwoJobsMayTradePlaces) {
  const std::vector<Action> orders = plan([&](const View&, Draft& draft) {
    EXPECT_FALSE(draft.replace(kRunning, kHeldByNeighbour));
    EXPECT_TRUE(draft.stop(kNeighbour));
    EXPECT_TRUE(draft.replace(kRunning, kHeldByNeighbour));
    EXPECT_TRUE(draft.start(kNeighbour, kHeld));
  });
  EXPECT_EQ(orders.size(), 2U) << "two stops; the starts follow when both have ended";
  EXPECT_EQ(engine_.lease(kRunning).placement, kHeldByNeighbour);
  EXPECT_EQ(engine_.lease(kNeighbour).placement, kHeld);
}

TEST_F(DraftTest, RollsBackToTheMark) {
  const std::vector<Action> orders = plan([&](const View& view, Draft& draft) {
    EXPECT_TRUE(draft.start(kPicky, {{NodeId(2), 0b1, 0, 0, 0}}));  // Before any mark: stays.
    const EngineSnapshot before = picture(view, draft);
    const Draft::Mark outer = draft.mark();
    EXPECT_TRUE(draft.stop(kRunning));
    EXPECT_TRUE(draft.start(kWaiting, kHeld));
    const EngineSnapshot middle = picture(view, draft);
    const Draft::Mark inner = draft.mark();
    EXPECT_TRUE(draft.replace(kWaiting, kFree));
    EXPECT_TRUE(draft.start(kRunning, kHeld));
    EXPECT_TRUE(draft.stop(kPicky));
    draft.rollback(inner);
    EXPECT_TRUE(picture(view, draft) == middle);
    draft.rollback(outer);
    EXPECT_TRUE(picture(view, draft) == before);
  });
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].job, kPicky);
}

TEST_F(DraftTest, RollsBackWhateverWasPencilled) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    plan([&](const View& view, Draft& draft) {
      Random random(seed);
      const EngineSnapshot at_first = picture(view, draft);
      std::vector<std::pair<Draft::Mark, EngineSnapshot>> marks = {{draft.mark(), at_first}};
      for (int i = 0; i < 40; ++i) {
        const JobId job(static_cast<std::uint32_t>(random.below(4)));
        const Placement place = {{NodeId(static_cast<std::uint32_t>(random.below(3))),
                                  SlotMask{0b11} << random.below(3),
                                  static_cast<std::int64_t>(random.below(2500)), 0, 0}};
        const std::uint64_t wish = random.below(5);
        if (wish == 0) draft.stop(job);
        if (wish == 1) draft.replace(job, place);
        if (wish == 2) draft.start(job, place);
        if (wish == 3) marks.emplace_back(draft.mark(), picture(view, draft));
        if (wish == 4 && marks.size() > 1) {
          marks.resize(1 + random.below(marks.size() - 1) + 1);  // Past several marks in one call.
          draft.rollback(marks.back().first);
          ASSERT_TRUE(picture(view, draft) == marks.back().second) << "step " << i;
          marks.pop_back();
        }
      }
      draft.rollback(marks.front().first);
      ASSERT_TRUE(picture(view, draft) == at_first);
    });
    ASSERT_EQ(engine_.counters().decisions, 3U) << "everything was rolled back: nothing to do";
  }
}

}  // namespace
}  // namespace muster
