// ComposedPlanner with tenants: loans, reclaims, and GPUs that must not be reclaimed. See
// docs/reference/formats.md, "Tenants".

#include <gtest/gtest.h>

#include "engine/chain/tenants_testing.h"

namespace muster::tenants_testing {
namespace {

TEST(ChainTenants, IdleGpusAreLentToWhoeverHasWork) {
  World world("1x8", tenants("a 4, b 4"));
  EXPECT_EQ(world.at(0, {world.job("a", 4)}), "start 0 on s0");
  EXPECT_EQ(world.at(1, {world.job("a", 3)}), "start 1 on s0") << "b does not need these GPUs";
  World whole("2x4", tenants("a 1, b 7"));
  EXPECT_EQ(whole.at(0, {whole.job("a", 8)}), "start 0 on s0+s1") << "more than its entitlement";
}

TEST(ChainTenants, ATenantWithoutQuotaLivesOnWhatIsLent) {
  World world("1x8", tenants("a 0, b 8"));
  EXPECT_EQ(world.at(0, {world.job("a", 8)}), "start 0 on s0");
  EXPECT_EQ(world.at(1, {world.job("b", 8)}), "stop 0, start 1 on s0");
  EXPECT_EQ(world.at(2, {world.end(1)}), "start 0 on s0");
}

TEST(ChainTenants, WhoIsWithinItsPartIsServedBeforeWhoBorrows) {
  World world("1x8", tenants("a 4, b 4"));
  EXPECT_EQ(world.at(0, {world.job("a", 4), world.job("b", 2)}), "start 0 on s0, start 1 on s0");
  // Two are free. The job of a is first in order, but would borrow.
  EXPECT_EQ(world.at(1, {world.job("a", 2, 1), world.job("b", 2, 9)}), "start 3 on s0");
  EXPECT_EQ(world.at(2, {world.end(1)}), "start 2 on s0") << "no other job waits";
}

TEST(ChainTenants, WhatWasLentIsTakenBackFromNinetyPerCentOn) {
  for (const std::int32_t busy : {8, 9}) {
    World world("1x10", tenants("a 4, b 6"));
    EXPECT_EQ(world.at(0, {world.job("a", 4)}), "start 0 on s0");
    EXPECT_EQ(world.at(1, {world.job("a", busy - 4)}), "start 1 on s0");
    EXPECT_EQ(world.at(2, {world.job("b", 6)}), busy == 8 ? "" : "stop 1, start 2 on s0");
  }
}

TEST(ChainTenants, HowFullTheClusterMustBeCanBeSet) {
  for (const std::int32_t permille : {0, 800, 801, 1000}) {
    World world("1x10", tenants("a 4, b 6", Sharing::kQuota, permille));
    world.at(0, {world.job("a", 4)});
    world.at(1, {world.job("a", 4)});
    EXPECT_EQ(world.at(2, {world.job("b", 6)}), permille <= 800 ? "stop 1, start 2 on s0" : "")
        << permille;
  }
}

// The last GPUs that a plan assigns may fill the cluster. Reclaiming must not need a later event.
TEST(ChainTenants, TheClusterIsAsFullAsThePlanMakesIt) {
  World world("1x10", tenants("a 4, b 6"));
  world.at(0, {world.job("a", 4)});
  world.at(1, {world.job("a", 4)});
  EXPECT_EQ(world.at(2, {world.job("b", 6)}), "") << "80%";
  const std::string then = world.at(3, {world.job("a", 1)});
  EXPECT_NE(then.find("start 2"), std::string::npos)
      << "\"" << then << "\": b waits below its part in a cluster that is 90% busy with loans";
}

TEST(ChainTenants, NothingIsTakenBackForAJobThatWouldBorrowItself) {
  World world("1x8", tenants("a 4, b 4"));
  world.at(0, {world.job("a", 4)});
  world.at(1, {world.job("a", 4)});
  EXPECT_EQ(world.at(2, {world.job("b", 5)}), "") << "b is entitled to four";
  EXPECT_EQ(world.at(3, {world.job("b", 4)}), "stop 1, start 3 on s0");
}

TEST(ChainTenants, TheLatestComeOfATenantIsWhatItBorrows) {
  World world("1x8", tenants("a 4, b 4"));
  world.at(0, {world.job("a", 4, 9)});
  world.at(300, {world.job("a", 4, 1)});
  EXPECT_EQ(world.at(600, {world.job("b", 4)}), "stop 1, start 2 on s0")
      << "both have just saved, and job 1 ranks first, but job 0 was there first";
}

// a is entitled to two GPUs, and job 2 holds them. The gang of six is older, but always borrowed.
TEST(ChainTenants, AGangTooLargeForItsTenantDoesNotMakeItsOthersLoans) {
  World world("1x10", tenants("a 2, b 8, c 0"));
  world.at(0, {world.job("a", 6)});
  world.at(1, {world.job("c", 2)});
  world.at(2, {world.job("a", 2)});  // It would lose the least work.
  EXPECT_EQ(world.at(3, {world.job("b", 8)}), "stop 0, stop 1, start 3 on s0");
}

TEST(ChainTenants, AGangIsTakenBackWhole) {
  World world("2x4", tenants("a 6, b 2"));
  EXPECT_EQ(world.at(0, {world.job("a", 8)}), "start 0 on s0+s1");
  EXPECT_EQ(world.at(1, {world.job("b", 2)}), "stop 0, start 1 on s0");
  EXPECT_EQ(world.engine().state().ledger.free_gpus(), 6);
}

// An evicted gang may be larger than the job that replaces it.
TEST(ChainTenants, WhatIsLeftOfAnEvictedGangGoesToTheNextOwnerInTheSamePlan) {
  World world("1x8", tenants("a 2, b 2, c 4"));
  EXPECT_EQ(world.at(0, {world.job("a", 8)}), "start 0 on s0");
  EXPECT_EQ(world.at(1, {world.job("b", 2, 1), world.job("c", 4, 2)}),
            "stop 0, start 1 on s0, start 2 on s0");
}

TEST(ChainTenants, WhatIsLeftOfAnEvictedGangIsLentAgainInTheSamePlan) {
  World world("1x8", tenants("a 2, b 6"));
  EXPECT_EQ(world.at(0, {world.job("a", 8)}), "start 0 on s0");
  EXPECT_EQ(world.at(1, {world.job("b", 2, 1), world.job("a", 6, 2)}),
            "stop 0, start 1 on s0, start 2 on s0")
      << "six GPUs are idle until the next event";
}

// Owners come before borrowers even if the owner needs more than the free GPUs. A plan must not
// lend free GPUs that it needs, with reclaimed ones, for an owner.
TEST(ChainTenants, NothingIsLentThatAnOwnerCouldUseTogetherWithWhatItTakesBack) {
  World world("1x10", tenants("a 4, b 6"));
  world.at(0, {world.job("a", 4)});
  world.at(1, {world.job("a", 5)});
  // One GPU is free. b needs six: the five lent GPUs and the free one.
  const std::string then = world.at(2, {world.job("b", 6), world.job("a", 1)});
  EXPECT_EQ(then, "stop 1, start 2 on s0");
}

TEST(ChainTenants, EvictsAsFewAsPossible) {
  World world("2x4", tenants("a 0, b 8"), {.strict = true});
  EXPECT_EQ(world.at(0, {world.job("a", 2), world.job("a", 2), world.job("a", 4)}),
            "start 0 on s0, start 1 on s0, start 2 on s1");
  EXPECT_EQ(world.at(1, {world.job("b", 4)}), "stop 2, start 3 on s1")
      << "two small jobs lose as little, but they are two";
}

TEST(ChainTenants, EvictsAsFewAsPossibleForAGangOfSeveralServers) {
  World world("3x4", tenants("a 0, b 12"));
  EXPECT_EQ(world.at(0, {world.job("a", 1), world.job("a", 1), world.job("a", 2), world.job("a", 4),
                         world.job("a", 4)}),
            "start 0 on s0, start 1 on s0, start 2 on s0, start 3 on s1, start 4 on s2");
  EXPECT_EQ(world.at(1, {world.job("b", 8)}), "stop 3, stop 4, start 5 on s1+s2");
}

TEST(ChainTenants, EvictsAsFewAsPossibleUnderAdaptiveMechanisms) {
  World world("2x4", tenants("a 0, b 8"), {.adaptive = true});
  world.at(0, {world.job("a", 4)});
  world.at(200, {world.job("a", 2), world.job("a", 2)});  // They would lose less work, but are two.
  EXPECT_EQ(world.at(250, {world.job("b", 4)}), "stop 0, start 3 on s0");
}

TEST(ChainTenants, OfEquallyManyEvictsWhoseWorkSinceItsLastCheckpointIsLeast) {
  for (const bool adaptive : {false, true}) {
    const auto victim_at = [&](std::int64_t second) {
      World world("1x8", tenants("a 0, b 8"), {.adaptive = adaptive, .checkpoint_interval = 300});
      world.at(0, {world.job("a", 4)});
      world.at(100, {world.job("a", 4)});
      return world.at(second, {world.job("b", 4)});
    };
    EXPECT_EQ(victim_at(250), "stop 1, start 2 on s0") << "150 s against 250 s";
    EXPECT_EQ(victim_at(310), "stop 0, start 2 on s0") << "it saved 10 s ago";
    EXPECT_EQ(victim_at(399), "stop 0, start 2 on s0") << "99 s against 299 s";
    EXPECT_EQ(victim_at(401), "stop 1, start 2 on s0") << "101 s against 1 s";
  }
}

TEST(ChainTenants, WorkIsGpuTime) {
  World world("2x4", tenants("a 0, b 8", Sharing::kQuota, 800), {.strict = true});
  world.at(0, {world.job("a", 3)});
  world.at(10, {world.job("a", 4)});
  // 100 s on three GPUs cost less than 90 s on four.
  EXPECT_EQ(world.at(100, {world.job("b", 3)}), "stop 0, start 2 on s0");
}

TEST(ChainTenants, WithoutCheckpointsToCountTheFirstServerServes) {
  World world("2x4", tenants("a 0, b 8"), {.strict = true, .checkpoint_interval = 0});
  world.at(0, {world.job("a", 4)});
  world.at(10, {world.job("a", 4)});
  EXPECT_EQ(world.at(100, {world.job("b", 4)}), "stop 0, start 2 on s0");
}

// Also on one node: one victim that is large enough and cheap, not the largest.
TEST(ChainTenants, OfEquallyManyEvictsTheCheapestNotTheLargest) {
  World one("1x8", tenants("a 0, b 8"));
  one.at(0, {one.job("a", 6), one.job("a", 2)});
  EXPECT_EQ(one.at(100, {one.job("b", 2)}), "stop 1, start 2 on s0");
  World two("1x8", tenants("a 0, b 8"));
  two.at(0, {two.job("a", 4)});
  two.at(80, {two.job("a", 2), two.job("a", 2)});
  EXPECT_EQ(two.at(100, {two.job("b", 4)}), "stop 0, start 3 on s0")
      << "one victim is better than two";
  World pair("1x8", tenants("a 0, b 8"));
  pair.at(0, {pair.job("a", 4)});
  pair.at(80, {pair.job("a", 2), pair.job("a", 2)});
  EXPECT_EQ(pair.at(100, {pair.job("b", 5)}), "stop 0, stop 1, start 3 on s0");
  World cheap("1x8", tenants("a 0, b 8"));
  cheap.at(0, {cheap.job("a", 3)});
  cheap.at(80, {cheap.job("a", 2), cheap.job("a", 2), cheap.job("b", 1)});
  EXPECT_EQ(cheap.at(100, {cheap.job("b", 4)}), "stop 1, stop 2, start 4 on s0")
      << "two victims in either case; 80 s lost, not 340";
}

TEST(ChainTenants, NobodyIsEvictedForGpusThatWouldBeScattered) {
  for (const bool adaptive : {false, true}) {
    World world("2x4", tenants("a 4, b 4"), {.strict = true, .adaptive = adaptive});
    EXPECT_EQ(world.at(0, {world.job("a", 2), world.job("b", 2)}), "start 0 on s0, start 1 on s0");
    EXPECT_EQ(world.at(1, {world.job("a", 2)}), "start 2 on s1");
    EXPECT_EQ(world.at(2, {world.end(1), world.job("a", 2)}), "start 3 on s0");
    EXPECT_EQ(world.at(3, {world.job("a", 2)}), "start 4 on s1");
    // Each node has two lent GPUs and two of a. b is entitled to four, on one node.
    EXPECT_EQ(world.at(4, {world.job("b", 4)}), "");
    EXPECT_EQ(world.at(5, {world.job("b", 3)}), "") << "not for three either";
    if (adaptive) continue;  // Adaptive mechanisms choose by count, and job 5 has the first claim.
    EXPECT_EQ(world.at(6, {world.job("b", 2)}), "stop 4, start 7 on s1");
  }
}

}  // namespace
}  // namespace muster::tenants_testing
