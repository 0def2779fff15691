// Gandiva with tenants: what is a job's right, what is lent, and what is taken back.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/planner/gandiva.h"
#include "engine/planner/gandiva_testing.h"
#include "engine/planner/reclaim_testing.h"

namespace muster {
namespace {

GandivaOptions with(const TenantTree& tenants, std::int32_t most_jobs = 1,
                    std::int64_t min_run = 0) {
  GandivaOptions options;
  options.tenants = &tenants;
  options.most_jobs = most_jobs;
  options.min_run = Duration::seconds(min_run);
  return options;
}

TEST(GandivaTenants, IdleGpusAreLent) {
  const TenantTree tenants = quotas({4, 4});
  GandivaWorld world("2x4", with(tenants));
  expect_idle_gpus_are_lent(world);
}

TEST(GandivaTenants, ARightComesBeforeAFavour) {
  const TenantTree tenants = quotas({4, 4});
  GandivaWorld world("2x4", with(tenants));
  expect_rights_before_favours(world);
}

TEST(GandivaTenants, ThoseFurthestBelowTheirWeightComeFirst) {
  const TenantTree tenants = quotas({4, 4}, 900, Sharing::kFair);
  GandivaWorld world("2x4", with(tenants));
  expect_those_furthest_below_come_first(world);
}

TEST(GandivaTenants, NobodyBorrowsWhatAnOwnerWaitsFor) {
  const TenantTree tenants = quotas({7, 1});
  GandivaWorld world("2x4", with(tenants));
  EXPECT_EQ(world.at(0, {job(3, kB), job(3, kA)}), "@0 start 1 on 0:3, @0 start 0 on 1:3");
  EXPECT_EQ(world.at(1, {job(3, kA)}), "") << "75% busy, so nothing is taken back";
  EXPECT_EQ(world.at(2, {job(1, kB)}), "");
  EXPECT_EQ(world.at(3, {job(1, kA)}), "@3 start 4 on 0:1") << "an owner may";
  EXPECT_EQ(world.waited(3, 5), "fair-share 3");
}

TEST(GandivaTenants, ButGpusOfAnotherTypeMayBeBorrowed) {
  Topology topology;
  ASSERT_FALSE(topology.add_node("k", "r", "k80", {4, 12000, 400, 0}));
  ASSERT_FALSE(topology.add_node("v", "r", "v100", {4, 12000, 400, 0}));
  const TenantTree tenants = quotas({8, 0});
  GandivaWorld world(std::move(topology), with(tenants));
  JobSubmitted picky = job(3, kA);
  picky.spec.gpu_type = GpuTypeId(1);
  EXPECT_EQ(world.at(0, {picky, picky}), "@0 start 0 on 1:3");
  EXPECT_EQ(world.at(1, {job(1, kB)}), "@1 start 2 on 0:1") << "not the better one";
  picky.spec.tenant = TenantId(kB);
  picky.spec.gpus = 1;
  EXPECT_EQ(world.at(2, {picky}), "");
}

TEST(GandivaTenants, AJobGivesItsPlaceOnlyToOneOfItsTenant) {
  const TenantTree tenants = quotas({1, 1});
  GandivaWorld world("1x1", with(tenants, 2));
  EXPECT_EQ(world.at(0, {job(1, kB)}), "@0 start 0 on 0:1");
  EXPECT_EQ(world.at(20, {job(1, kA)}), "@20 start 1 on 0:1, @20 0+1 turns");
  EXPECT_EQ(world.at(30, {job(1, kA)}), "");
  EXPECT_EQ(world.at(2000), "@1820 stop 1, @1820 0+2 turns, @1820 start 2 on 0:1");
}

TEST(GandivaTenants, TakesBackWhatWasLentTheYoungestFirst) {
  const TenantTree tenants = quotas({4, 8});
  GandivaWorld world("3x4", with(tenants));
  expect_the_youngest_stops(world);
  EXPECT_EQ(world.at(9000), "") << "no job is stopped for the stopped one";
  EXPECT_EQ(world.at(9001, {world.end(0)}), "@9001 start 2 on 0:4") << "it queued again";
}

TEST(GandivaTenants, TakesBackNoMoreThanWasLent) {
  const TenantTree tenants = quotas({6, 6});
  GandivaWorld world("3x4", with(tenants));
  expect_no_more_than_was_lent(world, {"2", "2", "1"});
}

TEST(GandivaTenants, WhoIsNotInTheWayStays) {
  const TenantTree tenants = quotas({10, 10});
  GandivaWorld world("2x10", with(tenants));
  expect_who_is_not_in_the_way_stays(world);
}

TEST(GandivaTenants, TakesBackOnlyWhenTheClusterIsNearlyFull) {
  const TenantTree tenants = quotas({10, 10}, 850);
  GandivaWorld world("2x10", with(tenants));
  world.at(0, {job(8, kB), job(8, kB)});
  EXPECT_EQ(world.at(2, {job(6, kA)}), "") << "80% busy";
  EXPECT_EQ(world.at(3, {job(1, kA)}), "@3 start 3 on 0:1");
  EXPECT_EQ(world.at(4, {job(1, kA)}), "@4 stop 1, @4 start 4 on 0:1, @4 start 2 on 1:6") << "85%";
}

TEST(GandivaTenants, NobodyIsStoppedBeforeItHasRunSoLong) {
  const TenantTree tenants = quotas({4, 4});
  GandivaWorld world("2x4", with(tenants, 1, 100));
  expect_nobody_stops_too_soon(world);
  EXPECT_EQ(world.at(1000), "@120 stop 0, @120 start 2 on 0:4");
}

TEST(GandivaTenants, TakesBackWhatStandsTogether) {
  const TenantTree tenants = quotas({2, 2});
  GandivaWorld world("2x2", with(tenants));
  for (int i = 0; i < 4; ++i) world.at(i, {job(1, kB)});  // 0 and 1 on one node, 2 and 3.
  EXPECT_EQ(world.at(4, {world.end(1), job(1, kB)}), "@4 start 4 on 0:1");
  EXPECT_EQ(world.at(5, {job(2, kA)}), "@5 stop 3, @5 stop 2, @5 start 5 on 1:2") << "not job 4";
}

TEST(GandivaTenants, TakesNothingBackOnAClosedServer) {
  const TenantTree tenants = quotas({4, 4});
  GandivaWorld world("2x4", with(tenants));
  EXPECT_EQ(world.at(0, {job(4, kB)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(1, {job(2, kB), job(2, kB)}), "@1 start 1 on 1:2, @1 start 2 on 1:2");
  EXPECT_EQ(world.at(2, {NodeClosed{NodeId(1)}, world.end(2)}), "");
  EXPECT_EQ(world.at(3, {job(2, kA)}), "@3 stop 0, @3 start 3 on 0:2") << "not job 1, the younger";
}

TEST(GandivaTenants, AWholeSeatIsTakenBackWithAllOnIt) {
  const TenantTree tenants = quotas({2, 2});
  GandivaWorld world("2x2", with(tenants, 2));
  EXPECT_EQ(world.at(0, {job(2, kB), job(2, kB)}), "@0 start 0 on 0:2, @0 start 1 on 1:2");
  EXPECT_EQ(world.at(1, {job(2, kB)}), "@1 start 2 on 0:2, @1 0+2 turns") << "six held of two";
  EXPECT_EQ(world.at(2, {job(2, kA)}), "@2 stop 0, @2 stop 2, @2 start 3 on 0:2");
  EXPECT_EQ(world.at(3), "@3 start 0 on 0:2, @3 start 2 on 1:2, @3 1+2 turns, @3 3+0 turns");
}

TEST(GandivaTenants, ASeatWithSomebodyWithinItsPartIsNotTakenBack) {
  const TenantTree tenants = quotas({1, 1, 2});
  GandivaWorld world("2x2", with(tenants, 2));
  const int c = 2;
  EXPECT_EQ(world.at(0, {job(2, c), job(2, kB)}), "@0 start 0 on 0:2, @0 start 1 on 1:2");
  EXPECT_EQ(world.at(1, {job(2, kB)}), "@1 start 2 on 0:2, @1 0+2 turns");
  EXPECT_EQ(world.at(2, {job(1, kA)}), "@2 stop 1, @2 start 3 on 1:1") << "2 is younger";
}

TEST(GandivaTenants, WhoBorrowsTakesTurnsOnlyWhileNoOwnerWaits) {
  const TenantTree tenants = quotas({4, 0});
  GandivaWorld world("1x4", with(tenants, 2));
  EXPECT_EQ(world.at(0, {job(2, kA), job(1, kA)}), "@0 start 0 on 0:2, @0 start 1 on 0:1");
  EXPECT_EQ(world.at(1, {job(1, kB)}), "@1 start 2 on 0:1");
  EXPECT_EQ(world.at(2, {job(1, kB)}), "@2 start 3 on 0:1, @2 1+3 turns");
  EXPECT_EQ(world.at(3, {job(1, kB)}), "@3 start 4 on 0:1, @3 2+4 turns");
  EXPECT_EQ(world.at(4, {job(1, kA), job(2, kB)}),
            "@4 stop 2, @4 stop 4, @4 0+6 turns, @4 start 5 on 0:1, @4 start 6 on 0:2");
}

// Within its tenant's entitlement, except for the GPUs of younger jobs.
TEST(GandivaTenants, AnOverdueOwnerIsServedByTheYoungerOfItsTenant) {
  const TenantTree tenants = quotas({4, 4});
  GandivaWorld world("2x4", with(tenants));
  EXPECT_EQ(world.at(0, {job(3, kA), job(4, kB)}), "@0 start 0 on 0:3, @0 start 1 on 1:4");
  EXPECT_EQ(world.at(1, {job(4, kA)}), "") << "not within its part";
  EXPECT_EQ(world.at(2, {job(1, kA)}), "@2 start 3 on 0:1");
  EXPECT_EQ(world.at(100, {world.end(0), job(3, kA)}), "@100 start 4 on 0:3");
  EXPECT_EQ(world.at(3000), "@1801 stop 4, @1801 stop 3, @1801 start 2 on 0:4");
  EXPECT_EQ(world.waited(2, 3000), "fair-share 1800");
}

TEST(GandivaTenants, WhoBorrowsIsNeverOverdue) {
  const TenantTree tenants = quotas({4, 2});
  GandivaWorld world("1x4", with(tenants));
  EXPECT_EQ(world.at(0, {job(1, kA), job(3, kB)}), "@0 start 0 on 0:1, @0 start 1 on 0:3");
  EXPECT_EQ(world.at(1, {job(3, kB)}), "");
  EXPECT_EQ(world.at(2, {job(1, kB)}), "");
  EXPECT_EQ(world.at(9000), "");
}

// B borrowed three of A's GPUs when they were idle. The cluster never gets full enough to reclaim
// them immediately.
TEST(GandivaTenants, AnOverdueOwnerIsServedHoweverFullTheClusterIs) {
  const TenantTree tenants = quotas({6, 2}, 1000);
  GandivaWorld world("2x4", with(tenants));
  EXPECT_EQ(world.at(0, {job(3, kB), job(3, kA)}), "@0 start 1 on 0:3, @0 start 0 on 1:3");
  EXPECT_EQ(world.at(1, {job(3, kA)}), "");
  EXPECT_EQ(world.at(9000), "@1801 stop 0, @1801 start 2 on 1:3");
}

TEST(GandivaTenants, WhatACancelledJobHeldIsItsTenantsAgain) {
  const TenantTree tenants = quotas({4, 4});
  GandivaWorld world("2x4", with(tenants));
  EXPECT_EQ(world.at(0, {job(4, kA), job(4, kB)}), "@0 start 0 on 0:4, @0 start 1 on 1:4");
  EXPECT_EQ(world.at(1, {job(4, kB), job(4, kA)}), "");
  EXPECT_EQ(world.at(2, {cancel(0)}), "@2 stop 0, @2 start 3 on 0:4")
      << "not job 2, which has ended";
}

}  // namespace
}  // namespace muster
