// Rules for all policies, mechanisms and placements on nodes that external jobs use too. The tests
// iterate over the tables, so they cover new entries. External jobs come and go and nodes close and
// open at random. A simple ledger tracks what really runs where: each start must fit.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "conformance_scenes.h"
#include "engine/core/engine.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "engine/scheduler/scheduler.h"
#include "workload/input/profiles_file.h"

namespace muster {
namespace {

class Shared {
 public:
  Shared(const PlannerOptions& parts, std::string name, std::uint64_t seed, bool particular)
      : name_(std::move(name)), random_(seed), particular_(particular) {
    MadePlanner made = make_planner(cluster_, parts);
    EngineOptions options;
    options.pooling = made.pooling;
    engine_ = std::make_unique<Engine>(cluster_, std::move(made.planner), options);
  }

  void play(int jobs) {
    for (int turn = 0; turn < 600 && !testing::Test::HasFailure(); ++turn) {
      events_ = {TimerFired{}};
      for (auto& [lease, placement] : running_) news_of(lease);
      for (std::uint64_t i = random_.below(4); i > 0 && jobs > 0; --i, --jobs) {
        events_.push_back(JobSubmitted{spec()});
      }
      nodes_change(jobs > 0);
      if (random_.below(3) == 0) std::reverse(events_.begin() + 1, events_.end());
      step();
      if (jobs == 0 && running_.empty() && engine_->state().waiting == 0) return check_empty();
    }
    FAIL() << name_ << ": " << engine_->state().waiting << " jobs wait for ever";
  }

  int tight() const { return tight_; }

 private:
  using LeaseName = std::pair<JobId, Epoch>;

  JobSpec spec() {
    constexpr std::int32_t kSizes[] = {1, 1, 2, 2, 3, 4, 6, 8};
    constexpr std::int64_t kCpus[] = {0, 0, 500, 2'500};
    constexpr std::int64_t kMem[] = {0, 0, 1'000, 90'000};
    JobSpec spec;
    spec.gpus = kSizes[random_.below(std::size(kSizes))];
    spec.profile = ProfileId(random_.below(profiles_.size()));
    spec.user = UserId(random_.below(3));
    spec.estimate = Duration::seconds(static_cast<std::int64_t>(100 + random_.below(3'000)));
    if (particular_) spec.least = {0, kCpus[random_.below(4)], kMem[random_.below(4)], 0};
    return spec;
  }

  void news_of(const LeaseName& lease) {
    if (stopping_.contains(lease)) {
      if (random_.below(2) == 0) over_.emplace(lease, LeaseOutcome::kStopped);
    } else if (!started_.contains(lease)) {
      started_.insert(lease);
      events_.push_back(LeaseStarted{lease.first, lease.second});
    } else if (random_.below(4) == 0) {
      over_.emplace(lease, LeaseOutcome::kCompleted);
    }
    if (const auto found = over_.find(lease); found != over_.end()) {
      events_.push_back(LeaseEnded{lease.first, lease.second, found->second});
    }
  }

  void nodes_change(bool busy) {
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      const NodeId node(i);
      if (random_.below(busy ? 8 : 2) == 0) {
        const bool close = busy && random_.below(3) == 0;
        closed_[node] = close;
        events_.push_back(close ? Event(NodeClosed{node}) : Event(NodeOpened{node}));
      }
      if (random_.below(busy ? 4 : 2) != 0) continue;
      Resources taken;
      if (busy && random_.below(3) != 0) {
        const Resources& all = topology_.node(node).capacity;
        const auto some = [&](std::int64_t most) {
          return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most) * 5 / 4));
        };
        taken = {static_cast<std::int32_t>(some(all.gpus)), some(all.cpu_milli), some(all.mem_mib),
                 0};
        if (random_.below(2) == 0) taken.gpus = 0;
      }
      taken_[node] = taken;
      events_.push_back(NodeTaken{node, taken});
    }
  }

  void step() {
    second_ += random_.below(2) == 0 ? 200 : 7;
    const auto actions = engine_->step(Instant::at(Duration::seconds(second_)), events_);
    for (const auto& [lease, outcome] : over_) running_.erase(lease);
    for (const Action& action : actions) {
      const LeaseName lease = {action.job, action.epoch};
      if (action.kind == Action::Kind::kStop) {
        if (running_.contains(lease)) stopping_.insert(lease);
      } else if (action.kind == Action::Kind::kResize) {
        running_.at(lease) = engine_->lease(action.job).in_force();
      } else if (action.kind == Action::Kind::kStart) {
        running_[lease] = engine_->lease(action.job).in_force();
        ASSERT_NO_FATAL_FAILURE(look(lease)) << name_ << ", at " << second_;
      } else {
        EXPECT_NE(action.kind, Action::Kind::kReject) << engine_->why_rejected(action.job);
      }
    }
    over_.clear();
    engine_->state().check_invariants();
  }

  // Returns the resources in use: each GPU-sharing group once, and external jobs.
  Resources held_on(NodeId node) const {
    Resources sum = taken_.contains(node) ? taken_.at(node) : Resources();
    const Resources& all = topology_.node(node).capacity;
    sum.gpus = std::min(sum.gpus, all.gpus);
    sum.cpu_milli = std::min(sum.cpu_milli, all.cpu_milli);
    sum.mem_mib = std::min(sum.mem_mib, all.mem_mib);
    SlotMask seen = 0;
    for (const auto& [lease, placement] : running_) {
      for (const Share& share : placement) {
        if (share.node != node || (seen & share.slots) == share.slots) continue;
        seen |= share.slots;
        sum += {share.gpus(), share.cpu_milli, share.mem_mib, 0};
      }
    }
    return sum;
  }

  // Returns whether the lease shares its GPUs with an earlier lease and so needs nothing more.
  bool has_company(const LeaseName& fresh) const {
    return std::any_of(running_.begin(), running_.end(), [&](const auto& other) {
      return other.first != fresh && same_slots(other.second, running_.at(fresh));
    });
  }

  void look(const LeaseName& lease) {
    if (has_company(lease)) return;
    const Placement& fresh = running_.at(lease);
    for (const Share& share : fresh) {
      const Resources held = held_on(share.node);
      const Resources& all = topology_.node(share.node).capacity;
      ASSERT_FALSE(closed_[share.node]) << "on a closed server";
      ASSERT_LE(held.gpus, all.gpus) << topology_.node(share.node).name;
      tight_ += taken_[share.node] != Resources() ? 1 : 0;
      if (engine_->state().ledger.pooled()) continue;
      ASSERT_LE(held.cpu_milli, all.cpu_milli) << topology_.node(share.node).name;
      ASSERT_LE(held.mem_mib, all.mem_mib) << topology_.node(share.node).name;
    }
  }

  void check_empty() {
    events_.clear();
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      events_.push_back(NodeTaken{NodeId(i), {}});
      events_.push_back(NodeOpened{NodeId(i)});
    }
    step();
    const ResourceLedger& ledger = engine_->state().ledger;
    EXPECT_EQ(ledger.free_gpus(), topology_.total().gpus);
    const ResourceLedger fresh(topology_,
                               ledger.pooled() ? Pooling::kWholeCluster : Pooling::kPerNode);
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      EXPECT_EQ(ledger.room(NodeId(i)).cpu_milli, fresh.room(NodeId(i)).cpu_milli);
      EXPECT_EQ(ledger.room(NodeId(i)).mem_mib, fresh.room(NodeId(i)).mem_mib);
    }
  }

  const std::string name_;
  const Topology topology_ = large_and_small();
  const ProfileTable profiles_ = builtin_profiles();
  const Cluster cluster_{topology_, profiles_};
  Random random_;
  bool particular_;
  std::unique_ptr<Engine> engine_;
  std::vector<Event> events_;
  std::map<LeaseName, Placement> running_;  // From the start until the end is reported.
  std::set<LeaseName> started_;
  std::set<LeaseName> stopping_;
  std::map<LeaseName, LeaseOutcome> over_;
  std::map<NodeId, Resources> taken_;
  std::map<NodeId, bool> closed_;
  std::int64_t second_ = 0;
  int tight_ = 0;  // Starts on nodes with external jobs.
};

TEST(ExternalJobs, NobodyIsPlacedWhereTheyLeaveNoRoom) {
  int tight = 0;
  for (const Composition& each : all_compositions()) {
    Shared run(each.options, each.name, 7, false);
    ASSERT_NO_FATAL_FAILURE(run.play(each.is_slow ? 12 : 40));
    tight += run.tight();
  }
  EXPECT_GT(tight, 1'000);
}

TEST(ExternalJobs, ManyRunsOfTheMechanismsThatRevise) {
  for (const char* const mechanism : {"tune", "blend", "opt", "greedy"}) {
    for (const char* const policy : {"fifo", "srtf", "las", "backfill"}) {
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        PlannerOptions options;
        options.parts = {policy, mechanism, "consolidate"};
        Shared run(options,
                   std::string(policy) + "/" + mechanism + ", seed " + std::to_string(seed), seed,
                   seed % 2 == 0);
        ASSERT_NO_FATAL_FAILURE(run.play(mechanism == std::string("opt") ? 10 : 40));
      }
    }
  }
}

TEST(ExternalJobs, WholeSchedulersKeepOffThemToo) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<PlannerOptions> all(3);
    all[0].whole = PhillyOptions{};
    all[1].whole = GandivaOptions{};
    all[2].whole = OptimusOptions{};
    for (const PlannerOptions& options : all) {
      const std::string name =
          std::to_string(options.whole.index()) + ", seed " + std::to_string(seed);
      Shared run(options, name, seed, false);
      ASSERT_NO_FATAL_FAILURE(run.play(40));
    }
  }
}

}  // namespace
}  // namespace muster
