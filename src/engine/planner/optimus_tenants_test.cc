// Optimus optimus_with tenants: what is a tenant's own, what is lent, and what is taken back.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/planner/optimus_testing.h"
#include "engine/planner/reclaim_testing.h"

namespace muster {
namespace {

OptimusOptions optimus_with(const TenantTree& tenants, std::int64_t min_run = 0) {
  OptimusOptions options;
  options.tenants = &tenants;
  options.min_run = Duration::seconds(min_run);
  return options;
}

Life passes_of(double steps) {
  Life life;
  life.pass_steps = steps;
  return life;
}

TEST(OptimusTenants, WhatIsIdleIsLentAndComesBackAtTheNextRound) {
  const TenantTree tenants = quotas({4, 4});
  OptimusWorld world("2x4", optimus_with(tenants));
  world.at(0, {world.job(elastic(8, kB), passes_of(3000))});
  EXPECT_EQ(world.shares(), "8");
  // Independent of the gain of the other job.
  world.at(600, {world.job(elastic(8, kA), passes_of(300))});
  EXPECT_EQ(world.shares(), "4 4");
  world.at(1200, {world.job(elastic(8, kA), passes_of(300))});
  EXPECT_EQ(world.gpus(0), 4);
  EXPECT_EQ(world.gpus(1) + world.gpus(2), 4) << "its tenant's part is for both";
}

TEST(OptimusTenants, WhatAPartDoesNotUseGoesByGain) {
  const TenantTree tenants = quotas({6, 6, 4});
  OptimusWorld world("2x8", optimus_with(tenants));
  world.at(0, {world.job(elastic(1, kA)), world.job(elastic(16, kB), passes_of(3000)),
               world.job(elastic(16, 2), passes_of(3000))});
  EXPECT_EQ(world.gpus(0), 1);
  EXPECT_GE(world.gpus(1), 6);
  EXPECT_GE(world.gpus(2), 4);
  EXPECT_EQ(world.gpus(1) + world.gpus(2), 15);
}

TEST(OptimusTenants, OwnersComeBeforeOlderBorrowers) {
  const TenantTree tenants = quotas({4, 4});
  OptimusWorld world("2x4", optimus_with(tenants));
  EXPECT_EQ(world.at(0, {world.job(gang(4, kB)), world.job(gang(4, kB))}),
            "@0 start 0 on 0:4, @0 start 1 on 1:4");
  EXPECT_EQ(world.at(600, {world.job(gang(4, kA))}), "@600 stop 1, @600 start 2 on 1:4");
  EXPECT_EQ(world.waited(1, 600), "");
  world.at(1200);
  EXPECT_EQ(world.waited(1, 1800), "fair-share 600, order 600") << "order until the next round";
  EXPECT_FALSE(world.engine().waited(JobId(0), Instant()).over_part_on_arrival);
  EXPECT_EQ(world.at(1800, {world.end(0)}), "@1800 start 1 on 0:4");
}

TEST(OptimusTenants, WhoComesWhenItsPartIsUsedUpIsNoted) {
  const TenantTree tenants = quotas({4, 4});
  OptimusWorld world("2x4", optimus_with(tenants));
  world.at(0, {world.job(gang(4, kB))});
  world.at(600, {world.job(gang(4, kB)), world.job(gang(4, kA))});
  EXPECT_TRUE(world.engine().waited(JobId(1), Instant()).over_part_on_arrival);
  EXPECT_FALSE(world.engine().waited(JobId(2), Instant()).over_part_on_arrival);
}

TEST(OptimusTenants, ABorrowerOfMoreThanAPartRunsWhenNobodyElseWantsIt) {
  const TenantTree tenants = quotas({4, 4});
  OptimusWorld world("2x4", optimus_with(tenants));
  EXPECT_EQ(world.at(0, {world.job(gang(2, kA)), world.job(gang(8, kB))}), "@0 start 0 on 0:2");
  world.at(600);
  EXPECT_EQ(world.waited(1, 600), "fair-share 600");
  EXPECT_EQ(world.at(1200, {world.end(0)}), "@1200 start 1 on 0:4 1:4");
}

TEST(OptimusTenants, NothingIsTakenBackFromAClusterThatIsNotFull) {
  for (const std::int32_t permille : {900, 500}) {
    const TenantTree tenants = quotas({4, 4}, permille);
    OptimusWorld world("2x4", optimus_with(tenants));
    EXPECT_EQ(world.at(0, {world.job(gang(3, kB)), world.job(gang(3, kB))}),
              "@0 start 0 on 0:3, @0 start 1 on 1:3");
    EXPECT_EQ(world.at(600, {world.job(gang(4, kA))}),
              permille == 900 ? "" : "@600 stop 1, @600 start 2 on 1:4");
  }
}

TEST(OptimusTenants, NorFromThoseThatHaveJustBegun) {
  const TenantTree tenants = quotas({4, 4});
  OptimusWorld world("2x4", optimus_with(tenants, 900));
  EXPECT_EQ(world.at(0, {world.job(elastic(8, kB), passes_of(3000))}), "@0 start 0 on 0:4 1:4");
  EXPECT_EQ(world.at(600, {world.job(gang(4, kA))}), "");
  EXPECT_EQ(world.at(1200), "@1200 stop 0, @1200 start 0 on 0:4, @1200 start 1 on 1:4");
}

TEST(OptimusTenants, PartsByWeightAreOfWhatAllCouldUse) {
  const TenantTree tenants = quotas({0, 0}, 900, Sharing::kFair);
  OptimusWorld world("2x4", optimus_with(tenants));
  world.at(0,
           {world.job(elastic(8, kA), passes_of(100)), world.job(elastic(8, kB), passes_of(3000)),
            world.job(elastic(8, kB), passes_of(3000))});
  EXPECT_EQ(world.shares(), "4 2 2");
  world.at(600, {world.end(0)});
  EXPECT_EQ(world.shares(), "0 4 4");
}

TEST(OptimusTenants, ChildrenShareTheirParentsPart) {
  TenantList list;
  list.rules.sharing = Sharing::kWeight;
  const auto add = [&](const char* name, const char* parent, std::int32_t weight) {
    TenantSpec spec;
    spec.name = name;
    spec.parent = parent;
    spec.weight_milli = weight;
    list.tenants.push_back(spec);
  };
  add("a", "", 1000);
  add("b", "", 1000);
  add("b1", "b", 1000);
  add("b2", "b", 3000);
  const TenantTree tenants = TenantTree::build(list).value();
  OptimusWorld world("2x8", optimus_with(tenants));
  world.at(0, {world.job(elastic(16, 0)), world.job(elastic(16, 2)), world.job(elastic(16, 3))});
  EXPECT_EQ(world.shares(), "8 2 6");
}

}  // namespace
}  // namespace muster
