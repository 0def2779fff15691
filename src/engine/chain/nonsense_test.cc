// The engine never assigns a GPU twice, splits a gang or runs a job twice, for any changes of a
// planner and any late events. A planner that drafts nonsense meets a fake cluster that keeps its
// own record of what runs where.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "engine/chain/nonsense_testing.h"
#include "engine/core/engine.h"
#include "tests/campaign.h"

namespace muster {
namespace {

Topology small_cluster() {
  Topology topology;
  const std::vector<std::pair<const char*, Resources>> nodes = {
      {"a", {4, 4000, 400, 400}}, {"a", {4, 4000, 400, 400}}, {"b", {2, 3000, 100, 0}},
      {"a", {1, 500, 50, 50}},    {"b", {8, 8000, 800, 800}},
  };
  for (const auto& [type, capacity] : nodes) {
    MUSTER_CHECK(!topology.add_node("s", "r", type, capacity));
  }
  return topology;
}

// The leases that run, as nodes would report: from kStart until their end is reported.
class FakeCluster {
 public:
  FakeCluster(const Cluster& cluster, std::uint64_t seed)
      : random_(Random(seed).fork("driver")),
        planner_(new NonsensePlanner(seed, seed % 3 == 0)),
        engine_(cluster, std::unique_ptr<NonsensePlanner>(planner_), options(seed)) {}

  const Engine& engine() const { return engine_; }
  const NonsensePlanner& planner() const { return *planner_; }

  void live(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      if (!one_in(6)) now_ = now_ + Duration::micros(static_cast<std::int64_t>(random_.below(40)));
      if (wake_ < now_) now_ = wake_;  // The driver honors the wake-up time.
      events_.clear();
      if (wake_ == now_) events_.push_back(TimerFired{});
      for (Running& lease : running_) news_of(lease);
      if (one_in(3)) events_.push_back(JobSubmitted{any_spec()});
      if (one_in(8)) events_.push_back(JobCancelled{any_job()});
      if (one_in(4)) stale_news();
      if (one_in(3)) std::reverse(events_.begin(), events_.end());
      step();
    }
  }

  // The planner drafts nothing more, and everything that runs ends.
  void wind_down() {
    planner_->be_quiet();
    for (int i = 0; i < 50 && !running_.empty(); ++i) {
      now_ = std::min(wake_, now_ + Duration::micros(1));
      events_.clear();
      for (Running& lease : running_)
        end(lease, lease.stopping ? LeaseOutcome::kStopped : LeaseOutcome::kCompleted);
      step();
    }
  }
  std::size_t joined() const { return companions_.size(); }
  bool all_ended() const { return running_.empty(); }

 private:
  struct Running {
    JobId job;
    Epoch epoch;
    Placement placement;
    bool started = false;
    bool stopping = false;
    bool ended = false;
  };

  static EngineOptions options(std::uint64_t seed) {
    EngineOptions options;
    options.pooling = seed % 5 == 0 ? Pooling::kWholeCluster : Pooling::kPerNode;
    if (seed % 2 == 0) options.round = Duration::micros(30);
    options.quantum = Duration::micros(50);
    return options;
  }

  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  JobId any_job() {
    const auto jobs = static_cast<std::uint64_t>(engine_.state().jobs.size());
    return JobId(static_cast<std::size_t>(random_.below(jobs + 2)));
  }
  JobSpec any_spec() {
    JobSpec spec;
    spec.gpus = static_cast<std::int32_t>(1 + random_.below(one_in(4) ? 9 : 4));
    if (one_in(4)) spec.gpu_type = GpuTypeId(static_cast<std::size_t>(random_.below(2)));
    if (one_in(4)) {
      spec.fewest =
          static_cast<std::int32_t>(1 + random_.below(static_cast<std::uint64_t>(spec.gpus)));
      spec.most = spec.gpus + static_cast<std::int32_t>(random_.below(4));
    }
    spec.estimate = Duration::micros(static_cast<std::int64_t>(random_.below(500)));
    return spec;
  }

  void end(Running& lease, LeaseOutcome outcome) {
    lease.ended = true;
    events_.push_back(LeaseEnded{lease.job, lease.epoch, outcome});
  }

  void news_of(Running& lease) {
    if (lease.started && one_in(10)) {
      const double speed = one_in(5) ? -1.0 : static_cast<double>(random_.below(3));
      events_.push_back(JobReported{lease.job, lease.epoch, speed, 1, 1, 1});
    }
    if (one_in(8)) {
      const auto left = static_cast<std::int64_t>(one_in(4) ? random_.next() : random_.below(900));
      events_.push_back(JobPredicted{lease.job, lease.epoch, Duration::micros(left)});
    }
    if (!lease.started && !lease.stopping && one_in(2)) {
      lease.started = true;
      events_.push_back(LeaseStarted{lease.job, lease.epoch});
      if (one_in(4)) events_.push_back(LeaseStarted{lease.job, lease.epoch});  // Reported twice.
    } else if (lease.stopping && one_in(4)) {
      end(lease, one_in(5) ? LeaseOutcome::kCompleted : LeaseOutcome::kStopped);
    } else if (lease.started && one_in(25)) {
      end(lease, LeaseOutcome::kCompleted);
    }
  }

  void stale_news() {
    std::pair<JobId, Epoch> lease = {any_job(), static_cast<Epoch>(1'000'000 + random_.below(9))};
    if (!ended_.empty() && !one_in(4)) lease = ended_[random_.below(ended_.size())];
    if (one_in(2)) events_.push_back(LeaseStarted{lease.first, lease.second});
    if (one_in(4)) {
      events_.push_back(JobPredicted{lease.first, lease.second, Duration::seconds(1)});
    }
    const LeaseOutcome outcome = one_in(2) ? LeaseOutcome::kCompleted : LeaseOutcome::kStopped;
    events_.push_back(LeaseEnded{lease.first, lease.second, outcome});
  }

  void step() {
    const std::span<const Action> actions = engine_.step(now_, events_);
    ended_before_ = ended_.size();
    for (const Running& lease : running_) {
      if (lease.ended) ended_.emplace_back(lease.job, lease.epoch);
    }
    std::erase_if(running_, [](const Running& lease) { return lease.ended; });
    if (wake_ == now_) wake_ = Instant::never();
    for (const GpuSharingGroup& sharing_group : engine_.state().sharing_groups) {
      for (const JobId one : sharing_group.members) {
        for (const JobId other : sharing_group.members) companions_.emplace(one, other);
      }
    }
    for (const Action& action : actions) ASSERT_NO_FATAL_FAILURE(carry_out(action));
    engine_.state().check_invariants();
    ASSERT_NO_FATAL_FAILURE(check_reality());
  }

  void carry_out(const Action& action) {
    const auto mine = std::find_if(running_.begin(), running_.end(), [&](const Running& lease) {
      return lease.job == action.job && lease.epoch == action.epoch;
    });
    switch (action.kind) {
      case Action::Kind::kStart:
        ASSERT_TRUE(mine == running_.end()) << "a lease started twice";
        ASSERT_NE(engine_.state().jobs[action.job].lease, kNoRow) << "started and already gone";
        ASSERT_EQ(engine_.lease(action.job).epoch, action.epoch) << "started and already replaced";
        running_.push_back({action.job, action.epoch, engine_.lease(action.job).in_force()});
        break;
      case Action::Kind::kStop:
        if (just_ended(action)) break;  // The stop order crossed the report of its end.
        ASSERT_TRUE(mine != running_.end()) << "a lease stopped that does not run";
        ASSERT_FALSE(mine->stopping) << "a lease stopped twice";
        mine->stopping = true;
        break;
      case Action::Kind::kResize:
        ASSERT_TRUE(mine != running_.end()) << "a lease resized that does not run";
        ASSERT_TRUE(same_slots(mine->placement, engine_.lease(action.job).in_force()));
        mine->placement = engine_.lease(action.job).in_force();
        break;
      case Action::Kind::kShare:
        ASSERT_TRUE(mine != running_.end()) << "GPU sharing for a lease that does not run";
        break;
      case Action::Kind::kGiveUp:
        FAIL() << "gave up on a job that has not failed";
      case Action::Kind::kReject:
        ASSERT_EQ(engine_.why_rejected(action.job), "too large");
        break;
      case Action::Kind::kWakeAt:
        ASSERT_GT(action.at, now_);
        wake_ = action.at;
        break;
    }
  }

  bool just_ended(const Action& action) const {
    const auto fresh = ended_.begin() + static_cast<std::ptrdiff_t>(ended_before_);
    return std::find(fresh, ended_.end(), std::pair(action.job, action.epoch)) != ended_.end();
  }

  // Whether an earlier lease has exactly the same GPUs, and the two shared them at some time. A
  // lease that stops may still save its work when a lease that was promised the shared GPUs starts.
  bool has_company(const Running& lease) const {
    for (const Running& other : running_) {
      if (&other == &lease) return false;
      if (same_slots(other.placement, lease.placement) &&
          companions_.contains({lease.job, other.job})) {
        return true;
      }
    }
    return false;
  }

  void check_reality() const {
    const State& state = engine_.state();
    std::map<NodeId, SlotMask> used;
    std::map<NodeId, Resources> amounts;
    const bool pooled = state.ledger.pooled();
    const Topology& topology = state.cluster->topology();
    std::map<JobId, int> leases;
    std::size_t held = 0;
    for (const Running& lease : running_) {
      if (has_company(lease)) continue;  // Counted with its group.
      for (const Share& share : lease.placement) {
        ASSERT_EQ(used[share.node] & share.slots, 0U)
            << "a GPU used twice on " << share.node.index();
        used[share.node] |= share.slots;
        const NodeId yard = pooled ? NodeId(0) : share.node;
        amounts[yard] += {0, share.cpu_milli, share.mem_mib, share.storage_kbps};
        ASSERT_TRUE(amounts[yard].fits_in(pooled ? topology.total() : topology.node(yard).capacity))
            << "CPU or memory held twice on " << share.node.index();
      }
    }
    for (const Running& lease : running_) {
      ASSERT_EQ(++leases[lease.job], 1) << "job " << lease.job.index() << " runs twice";
      const Job& job = state.jobs[lease.job];
      ASSERT_TRUE(job.spec.may_have(total_of(lease.placement).gpus)) << "an incomplete gang";
      const std::int32_t row = lease.stopping ? job.ending : job.lease;
      ASSERT_NE(row, kNoRow) << "the engine has forgotten a lease that runs";
      ASSERT_EQ(state.leases[static_cast<std::size_t>(row)].epoch, lease.epoch);
      const Lease& estimated = state.leases[static_cast<std::size_t>(row)];
      ASSERT_EQ(estimated.in_force(), lease.placement);
      ++held;
    }
    for (const Lease& lease : state.leases) {
      if (lease.state == Lease::State::kUnused || lease.state == Lease::State::kPromised) continue;
      ASSERT_GT(held--, 0U) << "the engine has a lease that does not run";
    }
  }

  Random random_;
  NonsensePlanner* planner_;  // Owned by the engine.
  Engine engine_;
  Instant now_;
  Instant wake_ = Instant::never();
  std::vector<Running> running_;
  std::vector<std::pair<JobId, Epoch>> ended_;
  std::set<std::pair<JobId, JobId>> companions_;
  std::size_t ended_before_ = 0;  // Number of leases that ended before this step.
  std::vector<Event> events_;
};

TEST(Nonsense, NeverMakesTheEngineOvercommit) {
  const Topology topology = small_cluster();
  const ProfileTable profiles;
  const Cluster cluster(topology, profiles);
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t stale = 0;
  std::size_t joined = 0;
  for (std::uint64_t seed = 0; seed < campaign_size(150, 150); ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    FakeCluster fake(cluster, seed);
    ASSERT_NO_FATAL_FAILURE(fake.live(250));
    accepted += fake.planner().accepted();
    refused += fake.planner().refused();
    stale += fake.engine().counters().stale;
    joined += fake.joined();
    ASSERT_NO_FATAL_FAILURE(fake.wind_down());
    ASSERT_TRUE(fake.all_ended());
    const State& state = fake.engine().state();
    EXPECT_EQ(state.ledger.free_gpus(), topology.total().gpus);
    EXPECT_TRUE(state.placed.empty());
    EXPECT_EQ(state.unused.size(), state.leases.size()) << "a lease row leaked";
  }
  EXPECT_GT(accepted, campaign_floor(10'000U));  // Else the test is too weak.
  EXPECT_GT(refused, campaign_floor(10'000U));
  EXPECT_GT(stale, campaign_floor(1000U));
  EXPECT_GT(joined, campaign_floor(1000U));
}

TEST(Nonsense, RepeatsItselfToTheBit) {
  const Topology topology = small_cluster();
  const ProfileTable profiles;
  const Cluster cluster(topology, profiles);
  std::vector<std::uint64_t> digests;
  for (const std::uint64_t seed : {4U, 4U, 5U}) {
    FakeCluster fake(cluster, seed);
    ASSERT_NO_FATAL_FAILURE(fake.live(300));
    digests.push_back(fake.engine().digest());
  }
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], digests[2]);
}

}  // namespace
}  // namespace muster
