// ComposedPlanner with tenants: turns, with policies that preempt, with fifo, and in a tree of
// tenants. Also the protection of new leases (min_run).

#include <gtest/gtest.h>

#include "engine/chain/tenants_testing.h"

namespace muster::tenants_testing {
namespace {

TEST(ChainTurns, APreemptingPolicyTakesNobodysOwnForAnother) {
  World world("1x8", tenants("a 4, b 4"), {.policy = kPreempting});
  EXPECT_EQ(world.at(0, {world.job("a", 4, 500), world.job("b", 4, 100)}),
            "start 1 on s0, start 0 on s0");
  EXPECT_EQ(world.at(1, {world.job("b", 4, 1)}), "stop 1, start 2 on s0")
      << "job 0 ranks last but is within the entitlement of a; b replaces its own job";
  EXPECT_EQ(world.at(2, {world.job("b", 2, 1)}), "");
}

TEST(ChainTurns, APreemptingPolicyTakesBackWhatWasLentWhateverItsRank) {
  World world("1x8", tenants("a 4, b 4"), {.policy = kPreempting});
  EXPECT_EQ(world.at(0, {world.job("a", 4, 1), world.job("a", 4, 2)}),
            "start 0 on s0, start 1 on s0");
  EXPECT_EQ(world.at(1, {world.job("b", 4, 900)}), "stop 1, start 2 on s0");
}

TEST(ChainTurns, BorrowersGiveWayToBetterRankedBorrowers) {
  World world("1x8", tenants("a 4, b 0, c 4"), {.policy = kPreempting});
  EXPECT_EQ(world.at(0, {world.job("a", 4, 100), world.job("a", 4, 200)}),
            "start 0 on s0, start 1 on s0");
  EXPECT_EQ(world.at(1, {world.job("b", 4, 50)}), "stop 1, start 2 on s0")
      << "b is entitled to nothing, and job 1 also borrows";
  EXPECT_EQ(world.at(2, {world.job("b", 4, 300)}), "");
}

TEST(ChainTurns, WhileGpusAreIdleABorrowerGivesWayToBetterRanksOnly) {
  for (const std::int64_t rank : {1, 100}) {
    World world("1x10", tenants("a 4, b 6"), {.policy = kPreempting});
    world.at(0, {world.job("a", 4, 10), world.job("a", 4, 20)});
    EXPECT_EQ(world.at(1, {world.job("b", 6, rank)}), rank == 1 ? "stop 1, start 2 on s0" : "");
  }
}

// By count the gang of four fits next to the jobs of a, but on no node.
TEST(ChainTurns, NobodyWithARightIsMovedForOneThatBorrows) {
  World world("2x4", tenants("a 6, b 2"), {.policy = kPreempting, .strict = true});
  EXPECT_EQ(world.at(0, {world.job("a", 2, 80), world.job("a", 2, 81), world.job("a", 2, 82)}),
            "start 0 on s0, start 1 on s0, start 2 on s1");
  EXPECT_EQ(world.at(1, {world.end(1)}), "");
  EXPECT_EQ(world.at(2, {world.job("b", 4, 1)}), "");
  EXPECT_EQ(world.at(3, {world.job("a", 4, 1)}), "stop 0, start 0 on s1, start 4 on s0")
      << "a job within the entitlement of a may displace it";
}

// Below the threshold a borrower keeps its place against all jobs that rank behind it. The owner
// that starts ranks before it, so the borrower must stop, not a job within its entitlement.
TEST(ChainTurns, NobodysOwnIsTakenWhileABorrowerKeepsItsPlace) {
  World world("1x10", tenants("a 2, b 4, c 4"), {.policy = kPreempting});
  EXPECT_EQ(world.at(0, {world.job("a", 4, 100), world.job("b", 4, 500)}),
            "start 1 on s0, start 0 on s0");
  EXPECT_EQ(world.at(1, {world.job("c", 4, 50)}), "stop 0, start 2 on s0");
}

TEST(ChainTurns, FifoBlocksInsideATenantOnly) {
  World world("1x8", tenants("a 5, b 3"), {.policy = kFifo});
  EXPECT_EQ(world.at(0, {world.job("a", 4, 1), world.job("b", 2, 2)}),
            "start 0 on s0, start 1 on s0");
  // Two GPUs are free. The next job of a needs four. The job behind it needs one, within the
  // entitlement of a.
  EXPECT_EQ(world.at(1, {world.job("a", 4, 3), world.job("a", 1, 4)}), "");
  EXPECT_EQ(world.at(2, {world.job("b", 1, 5)}), "start 4 on s0") << "b has its own order";
  EXPECT_EQ(world.at(3, {world.end(0)}), "start 2 on s0, start 3 on s0");
}

TEST(ChainTurns, FifoBlocksNobodyElseEvenForWhatIsATenantsRight) {
  World world("1x8", tenants("a 5, b 1, c 2"), {.policy = kFifo});
  EXPECT_EQ(world.at(0, {world.job("a", 2, 1), world.job("b", 4, 2)}),
            "start 0 on s0, start 1 on s0");
  // The next job of a is entitled to three GPUs, and two are free. Nothing is reclaimed yet.
  EXPECT_EQ(world.at(1, {world.job("a", 3, 3), world.job("c", 1, 4)}), "start 3 on s0");
}

// The head of a tenant may exceed its entitlement, and then waits until another tenant lends GPUs.
TEST(ChainTurns, FifoLetsNobodyOvertakeByTakingBackEither) {
  World world("1x8", tenants("a 4, b 4"), {.policy = kFifo});
  world.at(0, {world.job("b", 4, 1)});
  world.at(1, {world.job("b", 4, 2)});
  EXPECT_EQ(world.at(2, {world.job("a", 6, 3)}), "") << "more than the entitlement of a";
  EXPECT_EQ(world.at(3, {world.job("a", 2, 4)}), "") << "behind job 2 in the same tenant";
}

TEST(ChainTurns, FifoTakesBackForTheHeadAndThenForTheNext) {
  World world("1x8", tenants("a 4, b 4"), {.policy = kFifo});
  world.at(0, {world.job("b", 4, 1), world.job("b", 2, 2), world.job("b", 2, 3)});
  EXPECT_EQ(world.at(1, {world.job("a", 2, 4), world.job("a", 1, 5), world.job("a", 1, 6)}),
            "stop 1, stop 2, start 3 on s0, start 4 on s0, start 5 on s0");
}

TEST(ChainTurns, WhatASiblingHasBorrowedComesBackToo) {
  for (const PolicyTraits& policy : {kFitFirst, kPreempting}) {
    World world("1x8", tenants("lab 6, lab/vision 4, lab/speech 2, other 2"), {.policy = policy});
    world.at(0, {world.job("vision", 4, 1), world.job("other", 2, 2)});
    EXPECT_EQ(world.at(1, {world.job("vision", 2, 3)}), "start 2 on s0");
    EXPECT_EQ(world.at(2, {world.job("speech", 2, 4)}), "stop 2, start 3 on s0")
        << "the lab uses all its GPUs, but some of its jobs borrow";
  }
}

TEST(ChainTurns, ATenantBorrowsFromItsSiblingsBeforeOthersDo) {
  for (const PolicyTraits& policy : {kFitFirst, kPreempting}) {
    World world("1x8", tenants("lab 6, lab/vision 4, lab/speech 2, other 2"), {.policy = policy});
    EXPECT_EQ(world.at(0, {world.job("vision", 4, 1), world.job("other", 2, 2)}),
              "start 0 on s0, start 1 on s0");
    // Two GPUs of the lab are free. Both jobs would borrow.
    EXPECT_EQ(world.at(1, {world.job("other", 2, 3), world.job("vision", 2, 4)}), "start 3 on s0");
  }
}

TEST(ChainTurns, WhatALabHasARightToComesBackToIt) {
  World world("1x8", tenants("lab 6, lab/vision 4, lab/speech 2, other 2"));
  world.at(0, {world.job("vision", 4), world.job("other", 2)});
  EXPECT_EQ(world.at(1, {world.job("other", 2)}), "start 2 on s0") << "lent by the lab";
  EXPECT_EQ(world.at(2, {world.job("vision", 2)}), "stop 2, start 3 on s0")
      << "vision is not entitled to it, but the lab is";
  EXPECT_EQ(world.at(3, {world.job("speech", 2)}), "stop 3, start 4 on s0")
      << "within the lab, speech is entitled to it";
}

TEST(ChainTurns, OfTwoWhoWantALoanBackTheOwnerComesBeforeItsSibling) {
  World world("1x8", tenants("lab 6, lab/vision 4, lab/speech 2, other 2"));
  world.at(0, {world.job("vision", 4), world.job("other", 2)});
  EXPECT_EQ(world.at(1, {world.job("other", 2)}), "start 2 on s0");
  EXPECT_EQ(world.at(2, {world.job("vision", 2, 1), world.job("speech", 2, 9)}),
            "stop 2, start 4 on s0");
}

TEST(ChainTurns, NobodyTakesALoanFromASiblingThatHasAsLittleRight) {
  World world("1x8", tenants("lab 6, lab/vision 2, lab/speech 2, lab/text 2, other 2"));
  world.at(0, {world.job("vision", 2), world.job("speech", 2), world.job("other", 2)});
  EXPECT_EQ(world.at(1, {world.job("vision", 2)}), "start 3 on s0") << "text does not need them";
  EXPECT_EQ(world.at(2, {world.job("speech", 2)}), "");
  EXPECT_EQ(world.at(3, {world.job("text", 2)}), "stop 3, start 5 on s0");
}

TEST(ChainTurns, ByShareTheIdlePartOfALabIsItsOtherTenants) {
  for (const Sharing sharing : {Sharing::kFair, Sharing::kWeight}) {
    World world("1x8", tenants("lab 1, lab/vision 1, lab/speech 1, other 1", sharing));
    EXPECT_EQ(world.at(0, {world.job("other", 4)}), "start 0 on s0");
    EXPECT_EQ(world.at(1, {world.job("other", 4)}), "start 1 on s0") << "no other job waits";
    EXPECT_EQ(world.at(2, {world.job("vision", 4)}), "stop 1, start 2 on s0")
        << "half belongs to the lab, and all of that to vision";
    EXPECT_EQ(world.at(3, {world.job("vision", 2)}), "")
        << "not more than the entitlement of the lab";
    EXPECT_EQ(world.at(4, {world.job("speech", 2)}), "stop 2, start 4 on s0, start 3 on s0")
        << "now vision is entitled to two, and holds a gang of four";
  }
}

TEST(ChainTurns, ByWeightWhoHoldsLeastForItsWeightIsNext) {
  World world("1x8", tenants("a 1, b 3", Sharing::kWeight));
  world.at(0, {world.job("a", 2), world.job("b", 3), world.job("a", 3)});
  // a holds five. It ranks first, but b holds only three for its weight of three.
  EXPECT_EQ(world.at(1, {world.job("a", 3, 1), world.job("b", 3, 9), world.end(2)}),
            "start 4 on s0");
}

TEST(ChainTurns, FairIsToUsersTooWhateverTheOrder) {
  World world("1x8", tenants("a 1", Sharing::kFair));
  EXPECT_EQ(world.at(0, {world.job("a", 4, 1, 1), world.job("a", 4, 2, 1)}),
            "start 0 on s0, start 1 on s0");
  EXPECT_EQ(world.at(1, {world.job("a", 4, 3, 1), world.job("a", 4, 9, 2)}), "");
  EXPECT_EQ(world.at(2, {world.end(0)}), "start 3 on s0") << "user 2 holds nothing";
  EXPECT_EQ(world.at(3, {world.end(1)}), "start 2 on s0");
}

TEST(ChainTurns, NobodyIsTakenBackFromBeforeItHasRunForAWhile) {
  World world("1x8", tenants("a 4, b 4"), {.min_run = 100});
  world.at(0, {world.job("a", 4)});
  world.at(10, {world.job("a", 4)});
  EXPECT_EQ(world.at(20, {world.job("b", 4)}), "");
  EXPECT_EQ(world.wake(), 110) << "when the loan can be reclaimed";
  EXPECT_EQ(world.at(109, {world.job("b", 1)}), "") << "not for any job";
  EXPECT_EQ(world.wake(), 110);
  EXPECT_EQ(world.at(110, {}), "stop 1, start 2 on s0");
}

TEST(ChainTurns, ABetterRankWaitsUntilTheOthersHaveRunForAWhile) {
  World world("1x8", tenants("a 8"), {.policy = kPreempting, .min_run = 100});
  world.at(0, {world.job("a", 4, 50)});
  world.at(10, {world.job("a", 4, 60)});
  EXPECT_EQ(world.at(20, {world.job("a", 4, 1)}), "");
  EXPECT_EQ(world.wake(), 100);
  EXPECT_EQ(world.at(100, {}), "stop 0, start 2 on s0") << "job 1 ranks behind but is protected";
  EXPECT_EQ(world.at(110, {world.job("a", 4, 1)}), "stop 1, start 3 on s0");
}

// Four GPUs are free, but not on one node. The gang would fit if a protected job moved.
TEST(ChainTurns, ItIsPlannedAgainWhenWhoStandsInTheWayMayBeMoved) {
  World world("2x4", tenants("a 8"), {.policy = kPreempting, .strict = true, .min_run = 100});
  EXPECT_EQ(world.at(0, {world.job("a", 2, 50), world.job("a", 2, 60), world.job("a", 2, 70)}),
            "start 0 on s0, start 1 on s0, start 2 on s1");
  EXPECT_EQ(world.at(10, {world.end(1)}), "");
  EXPECT_EQ(world.at(20, {world.job("a", 4, 1)}), "");
  EXPECT_EQ(world.wake(), 100);
  EXPECT_EQ(world.at(100, {}), "stop 0, start 0 on s1, start 3 on s0");
}

TEST(ChainTurns, WhoWasEvictedIsSafeAgainWhenItRunsAgain) {
  World world("1x8", tenants("a 4, b 4"), {.min_run = 100});
  world.at(0, {world.job("a", 4)});
  world.at(1, {world.job("a", 4)});
  EXPECT_EQ(world.at(101, {world.job("b", 4)}), "stop 1, start 2 on s0");
  EXPECT_EQ(world.at(200, {world.end(2)}), "start 1 on s0");
  EXPECT_EQ(world.at(201, {world.job("b", 4)}), "");
  EXPECT_EQ(world.wake(), 300);
  EXPECT_EQ(world.at(300, {}), "stop 1, start 3 on s0");
}

}  // namespace
}  // namespace muster::tenants_testing
