// Properties of Gandiva with random events: the ledger stays consistent, no job gets forbidden
// resources, every job ends, and the same events give the same schedule.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "engine/planner/gandiva.h"
#include "engine/planner/gandiva_testing.h"
#include "tests/campaign.h"

namespace muster {
namespace {

constexpr int kSeeds = 300;
constexpr int kArrivalSteps = 60;
constexpr int kMaxSteps = 3000;

ProfileTable some_profiles() {
  ProfileTable table;
  for (int i = 0; i < 3; ++i) {
    SpeedMatrix matrix;
    matrix.cpu_milli = {3000};
    matrix.mem_mib = {64000};
    matrix.speed = {1};
    Profile profile = Profile::matrix(std::string(1, static_cast<char>('x' + i)), matrix);
    profile.state_gpu_use(0.3 * (i + 1));
    EXPECT_TRUE(table.add(std::move(profile)).ok());
  }
  return table;
}

Topology some_topology(Random& random) {
  Topology topology;
  const std::uint64_t nodes = 2 + random.below(4);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const auto gpus = static_cast<std::int32_t>(random.below(3) == 0 ? 2 : 4);
    const std::string number = std::to_string(i);
    const char* type = random.below(4) == 0 ? "old" : "new";
    EXPECT_FALSE(topology.add_node("n" + number, i % 2 == 0 ? "r0" : "r1", type,
                                   {gpus, gpus * 3000, gpus * 64000, 0}));
  }
  return topology;
}

PairTable some_pairs(Random& random) {
  PairTable pairs;
  for (int a = 1; a <= 3; ++a) {
    for (int b = a; b <= 3; ++b) {
      for (const std::int32_t gpus : {1, 2, 4}) {
        if (random.below(3) == 0) continue;
        pairs.add(ProfileId(a), ProfileId(b), gpus, {random.uniform(0, 1), random.uniform(0, 1)});
      }
    }
  }
  return pairs;
}

// One random life of a small cluster.
class GandivaLife {
 public:
  explicit GandivaLife(std::uint64_t seed)
      : random_(seed),
        tenants_(quotas({5, 3, 0}, random_.below(2) == 0 ? 900 : 400)),
        pairs_(some_pairs(random_)),
        options_(some_options()),
        world_(some_topology(random_), options_, some_profiles(), kUsualSpread) {}

  void run() {
    for (int i = 0; i < kMaxSteps && (i < kArrivalSteps || !all_ended()); ++i) {
      now_ += static_cast<std::int64_t>(1 + random_.below(i < kArrivalSteps ? 60 : 400));
      world_.at(now_, happenings(i));
      for (std::size_t j = 0; j < left_.size(); ++j) tell(static_cast<int>(j));
      check();
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_TRUE(all_ended()) << "at " << now_;
  }
  std::uint64_t digest() const { return world_.engine().digest(); }
  std::size_t shared_most() const { return shared_most_; }
  bool packed_any() const { return packed_any_; }
  bool grown_any() const { return grown_any_; }

 private:
  GandivaOptions some_options() {
    GandivaOptions options;
    options.most_jobs = static_cast<std::int32_t>(1 + random_.below(4));
    if (random_.below(2) == 0) options.pairs = &pairs_;
    if (random_.below(2) == 0) options.tenants = &tenants_;
    if (random_.below(3) == 0) options.min_run = Duration::seconds(150);
    return options;
  }

  JobSubmitted some_job() {
    JobSubmitted wish = job(static_cast<std::int32_t>(1 + random_.below(random_.below(4) + 1)),
                            static_cast<int>(random_.below(3)));
    if (random_.below(12) == 0) wish.spec.gpus = 6;
    if (random_.below(10) == 0) wish.spec.gpu_type = GpuTypeId(0);
    wish.spec.profile = ProfileId(static_cast<int>(random_.below(4)));
    if (random_.below(4) == 0) {
      wish.spec.fewest = 1;
      wish.spec.most = wish.spec.gpus + 2;
    }
    left_.push_back(static_cast<std::int64_t>(20 + random_.below(600)));
    return wish;
  }

  std::vector<Event> happenings(int step) {
    std::vector<Event> events;
    for (const JobId placed : world_.state().placed) {
      std::int64_t& left = left_[placed.index()];
      left -= now_ - before_;
      const int number = static_cast<int>(placed.index());
      if (left <= 0) {
        events.emplace_back(world_.end(number));
      } else if (random_.below(150) == 0) {
        events.emplace_back(world_.end(number, LeaseOutcome::kStopped));
      }
    }
    before_ = now_;
    if (step >= kArrivalSteps) {
      if (closed_) events.emplace_back(NodeOpened{*std::exchange(closed_, std::nullopt)});
      return events;
    }
    for (std::uint64_t i = random_.below(4); i > 0; --i) events.emplace_back(some_job());
    if (random_.below(15) == 0 && !left_.empty()) {
      events.emplace_back(cancel(static_cast<int>(random_.below(left_.size()))));
    }
    if (random_.below(20) == 0) {
      if (closed_) events.emplace_back(NodeOpened{*closed_});
      closed_ = NodeId(random_.below(world_.state().closed.size()));
      events.emplace_back(NodeClosed{*closed_});
    }
    return events;
  }

  // How fast it is, as far as the world cares: by chance, and sometimes it does not say.
  void tell(int number) {
    world_.says[number] = random_.uniform(0.2, 1.3);
    if (random_.below(4) == 0) {
      world_.silent.insert(number);
    } else {
      world_.silent.erase(number);
    }
  }

  bool all_ended() const { return world_.state().waiting == 0 && world_.state().placed.empty(); }

  void check() {
    const State& state = world_.state();
    for (const JobId placed : state.placed) {
      const JobSpec& spec = state.jobs[placed].spec;
      grown_any_ = grown_any_ || world_.engine().lease(placed).total.gpus > spec.gpus;
      for (const Share& share : world_.engine().lease(placed).placement) {
        ASSERT_EQ(share.cpu_milli, share.gpus() * 3000) << "the proportional share";
        ASSERT_EQ(share.mem_mib, share.gpus() * 64000);
      }
    }
    for (const GpuSharingGroup& sharing_group : state.sharing_groups) {
      shared_most_ = std::max(shared_most_, sharing_group.members.size());
      if (sharing_group.members.empty()) continue;
      if (sharing_group.manner == SharingMode::kTimeSliced) {
        // Two that were packed and did not do well remain together.
        ASSERT_LE(sharing_group.members.size(),
                  std::max(static_cast<std::size_t>(options_.most_jobs), std::size_t{2}));
      } else {
        packed_any_ = true;
        ASSERT_NE(options_.pairs, nullptr);
        const JobSpec& first = state.jobs[sharing_group.members[0]].spec;
        const JobSpec& second = state.jobs[sharing_group.members[1]].spec;
        ASSERT_TRUE(options_.pairs->fits(first.profile, second.profile, first.gpus));
      }
    }
  }

  Random random_;
  TenantTree tenants_;
  PairTable pairs_;
  GandivaOptions options_;
  GandivaWorld world_;
  std::int64_t now_ = 0;
  std::int64_t before_ = 0;
  std::vector<std::int64_t> left_;  // Seconds that each job has still to hold its GPUs.
  std::optional<NodeId> closed_;
  std::size_t shared_most_ = 0;
  bool packed_any_ = false;
  bool grown_any_ = false;
};

TEST(GandivaProperty, EveryJobEndsWhateverHappens) {
  std::size_t shared_most = 0;
  int packed = 0;
  int grown = 0;
  for (std::uint64_t seed = 0; seed < campaign_size(kSeeds, kSeeds); ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    GandivaLife life(seed);
    life.run();
    if (HasFatalFailure()) return;
    shared_most = std::max(shared_most, life.shared_most());
    packed += life.packed_any() ? 1 : 0;
    grown += life.grown_any() ? 1 : 0;
  }
  EXPECT_EQ(shared_most, 4U) << "the test has seen what it is about";
  EXPECT_GT(packed, campaign_floor(20));
  EXPECT_GT(grown, campaign_floor(20));
}

TEST(GandivaProperty, TheSameHappeningsGiveTheSameSchedule) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    GandivaLife first(seed);
    GandivaLife second(seed);
    first.run();
    second.run();
    EXPECT_EQ(first.digest(), second.digest());
  }
}

}  // namespace
}  // namespace muster
