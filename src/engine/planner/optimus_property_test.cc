// Optimus on random clusters and workloads: after every step the ledger is consistent (the test
// world checks it), entitlements are respected, and every job ends.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/planner/optimus_testing.h"
#include "tests/campaign.h"

namespace muster {
namespace {

Topology random_cluster(Random& random) {
  Topology topology;
  const std::uint64_t nodes = 1 + random.below(5);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const auto gpus = static_cast<std::int32_t>(1 + random.below(8));
    MUSTER_CHECK(!topology.add_node("s" + std::to_string(i), "r", random.below(3) == 0 ? "b" : "a",
                                    {gpus, gpus * 3001 + 1, gpus * 64'000 + 7, gpus * 100}));
  }
  return topology;
}

TenantTree random_tenants(Random& random, std::int64_t gpus) {
  constexpr Sharing kSharings[] = {Sharing::kQuota, Sharing::kWeight, Sharing::kFair};
  TenantList list;
  list.rules.sharing = kSharings[random.below(3)];
  list.rules.reclaim_permille = random.below(2) == 0 ? 900 : 300;
  for (const char* name : {"a", "b", "c"}) {
    TenantSpec spec;
    spec.name = name;
    spec.quota = gpus / 3;
    if (list.tenants.empty()) spec.quota = gpus - 2 * (gpus / 3);
    if (list.tenants.size() == 2 && random.below(2) == 0) {
      spec.parent = "b";
      spec.quota = gpus / 6;
    }
    list.tenants.push_back(spec);
  }
  return TenantTree::build(list).value();
}

JobSpec random_spec(Random& random, const Topology& topology) {
  JobSpec spec;
  spec.gpus = static_cast<std::int32_t>(1 + random.below(8));
  if (random.below(4) != 0) {
    spec.fewest =
        static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(spec.gpus)));
    spec.most = spec.gpus + static_cast<std::int32_t>(random.below(12));
  }
  if (random.below(4) == 0) {
    spec.gpu_type = GpuTypeId(static_cast<std::size_t>(random.below(topology.gpu_type_count())));
  }
  spec.tenant = TenantId(static_cast<std::size_t>(random.below(3)));
  spec.user = UserId(static_cast<std::size_t>(random.below(3)));
  spec.profile = ProfileId(static_cast<std::size_t>(random.below(2)));
  return spec;
}

Life random_life(Random& random) {
  Life life;
  life.passes = random.uniform(1, 150);
  life.pass_steps = random.exponential(60) + 1;
  life.loss = {random.below(4) == 0 ? 0 : random.uniform(0.01, 1), random.uniform(0.1, 2),
               random.uniform(0, 1), 0, 0};
  life.scaling = {1, random.uniform(0, 0.2), random.below(2) == 0 ? 0 : random.uniform(0, 0.1)};
  life.reports = random.below(8) != 0;
  return life;
}

struct Campaign {
  std::int64_t resizes = 0;
  std::int64_t preempted = 0;
};

void run_one(std::uint64_t seed, Campaign& campaign) {
  Random random(seed);
  const Topology topology = random_cluster(random);
  const TenantTree tenants = random_tenants(random, topology.total().gpus);
  OptimusOptions options;
  if (random.below(2) == 0) options.tenants = &tenants;
  if (random.below(3) == 0) options.min_run = Duration::seconds(700);
  if (random.below(3) == 0) options.restart_cost = Duration();
  OptimusWorld world(topology, options);
  std::int64_t now = 0;
  int jobs = 0;
  std::vector<std::uint8_t> closed(topology.node_count(), 0);
  for (int i = 0; i < 40; ++i) {
    now += static_cast<std::int64_t>(random.below(900));
    std::vector<Event> events;
    for (std::uint64_t more = random.below(3); more > 0; --more, ++jobs) {
      events.push_back(world.job(random_spec(random, topology), random_life(random)));
    }
    if (random.below(10) == 0 && jobs > 3) {
      events.push_back(JobCancelled{
          JobId(static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(jobs - 2))))});
    }
    if (random.below(6) == 0) {
      const std::size_t node = static_cast<std::size_t>(random.below(closed.size()));
      if (closed[node] == 0) events.push_back(NodeClosed{NodeId(node)});
      if (closed[node] != 0) events.push_back(NodeOpened{NodeId(node)});
      closed[node] ^= 1;
    }
    if (random.below(4) == 0) {
      events.push_back(TypeMeasured{ProfileId(static_cast<std::size_t>(random.below(2))),
                                    static_cast<std::int32_t>(1 + random.below(10)),
                                    random.uniform(0.1, 8)});
    }
    world.at(now, events);
  }
  std::vector<Event> open;
  for (std::size_t node = 0; node < closed.size(); ++node) open.push_back(NodeOpened{NodeId(node)});
  world.at(now + 1, open);
  world.run(200'000);
  for (std::size_t i = 0; i < world.state().jobs.size(); ++i) {
    const JobState state = world.state().jobs[JobId(i)].state;
    ASSERT_TRUE(state == JobState::kDone || state == JobState::kCancelled ||
                state == JobState::kRejected)
        << "job " << i << " at " << world.now();
    campaign.resizes += std::max(0, world.starts(static_cast<int>(i)) - 1);
  }
  ASSERT_EQ(world.state().ledger.free_gpus(), topology.total().gpus);
}

TEST(OptimusProperty, EveryJobEnds) {
  Campaign campaign;
  for (std::uint64_t seed = 0; seed < campaign_size(250, 250); ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    run_one(seed, campaign);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(campaign.resizes, campaign_floor(2000));
}

}  // namespace
}  // namespace muster
