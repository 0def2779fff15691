// Philly philly_with tenants: what is a job's right, what is lent, and what is taken back.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/text/text.h"
#include "base/types/random.h"
#include "engine/planner/philly.h"
#include "engine/planner/reclaim_testing.h"
#include "engine/planner/testing.h"
#include "tests/campaign.h"

namespace muster {
namespace {

PhillyOptions philly_with(const TenantTree& tenants, std::int64_t min_run = 0) {
  PhillyOptions options = usual();
  options.tenants = &tenants;
  options.min_run = Duration::seconds(min_run);
  return options;
}

bool over_part_on_arrival(const World& world, int job) {
  return world.engine().waited(JobId(job), Instant()).over_part_on_arrival;
}

TEST(PhillyTenants, IdleGpusAreLent) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants));
  expect_idle_gpus_are_lent(world);
}

TEST(PhillyTenants, ARightComesBeforeAFavour) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants));
  expect_rights_before_favours(world);
}

TEST(PhillyTenants, ThoseFurthestBelowTheirWeightComeFirst) {
  const TenantTree tenants = quotas({4, 4}, 900, Sharing::kFair);
  World world("2x4", philly_with(tenants));
  expect_those_furthest_below_come_first(world);
}

TEST(PhillyTenants, TakesBackWhatWasLentTheYoungestFirst) {
  const TenantTree tenants = quotas({4, 8});
  World world("3x4", philly_with(tenants));
  expect_the_youngest_stops(world);
  EXPECT_EQ(world.at(1000), "") << "no job is stopped for the stopped one";
  EXPECT_EQ(world.waited(2, 1000), "fair-share 969, order 1") << "a second until the next plan";
  EXPECT_EQ(world.at(2000, {world.end(0)}), "@2000 start 2 on 0:4") << "it queued again";
  EXPECT_EQ(world.at(2001, {world.end(2)}), "");
  EXPECT_EQ(world.waited(2, 5000), "fair-share 1969, order 1");
}

TEST(PhillyTenants, TakesBackNoMoreThanWasLent) {
  const TenantTree tenants = quotas({6, 6});
  World world("3x4", philly_with(tenants));
  expect_no_more_than_was_lent(world, {"2", "1", "0"});
}

TEST(PhillyTenants, WhoIsNotInTheWayStays) {
  const TenantTree tenants = quotas({10, 10});
  World world("2x10", philly_with(tenants));
  expect_who_is_not_in_the_way_stays(world);
}

TEST(PhillyTenants, TakesBackOnlyWhenTheClusterIsNearlyFull) {
  const TenantTree tenants = quotas({10, 10});
  World world("2x10", philly_with(tenants));
  EXPECT_EQ(world.at(0, {job(8, kB)}), "@0 start 0 on 0:8");
  EXPECT_EQ(world.at(1, {job(8, kB)}), "@1 start 1 on 1:8");
  EXPECT_EQ(world.at(2, {job(10, kA)}), "") << "80% busy";
  EXPECT_EQ(world.at(1000), "");
  EXPECT_EQ(world.at(1001, {job(1, kB)}), "@1001 start 3 on 0:1") << "85%";
  EXPECT_EQ(world.at(2000), "");
  EXPECT_EQ(world.at(2001, {job(1, kB)}), "@2001 start 4 on 0:1") << "90%";
  const std::string done = world.at(3000);  // Its next search.
  EXPECT_NE(done.find("stop 1, "), std::string::npos) << done;
  EXPECT_TRUE(done.ends_with("start 2 on 1:10")) << done;
}

TEST(PhillyTenants, HowFullIsSettable) {
  const TenantTree tenants = quotas({10, 10}, 800);
  World world("2x10", philly_with(tenants));
  EXPECT_EQ(world.at(0, {job(8, kB)}), "@0 start 0 on 0:8");
  EXPECT_EQ(world.at(1, {job(8, kB)}), "@1 start 1 on 1:8");
  EXPECT_EQ(world.at(2, {job(10, kA)}), "@2 stop 1, @2 start 2 on 1:10");
}

TEST(PhillyTenants, NobodyIsStoppedBeforeItHasRunSoLong) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants, 100));
  expect_nobody_stops_too_soon(world);
  EXPECT_EQ(world.at(2000), "@279 stop 1, @279 start 2 on 1:4") << "the next it looks";
}

// A's small jobs stand on either node, so that its gang finds none it could have whole.
void break_both_nodes(World& world) {
  ASSERT_EQ(world.at(0, {job(1, kA)}), "@0 start 0 on 0:1");
  ASSERT_EQ(world.at(1, {job(3, kB)}), "@1 start 1 on 1:3");
  ASSERT_EQ(world.at(2, {job(3, kB)}), "@2 start 2 on 0:3");
  ASSERT_EQ(world.at(3, {job(1, kA)}), "@3 start 3 on 1:1");
}

TEST(PhillyTenants, NobodyIsStoppedInVain) {
  const TenantTree tenants = quotas({6, 2});
  World world("2x4", philly_with(tenants));
  break_both_nodes(world);
  EXPECT_EQ(world.at(4, {job(4, kA)}), "") << "stopping both of B's would not make it a node";
  EXPECT_EQ(world.at(170), "");
  EXPECT_EQ(world.at(171, {cancel(4), job(3, kA)}), "@171 stop 2, @171 start 5 on 0:3");
}

TEST(PhillyTenants, NorDoesAnotherGetWhatWasStoppedInVain) {
  const TenantTree tenants = quotas({6, 2});
  World world("2x4", philly_with(tenants));
  break_both_nodes(world);
  EXPECT_EQ(world.at(4, {job(4, kA), job(1, kB)}), "");
  EXPECT_EQ(world.at(100), "");
}

// B was lent two GPUs. A's gang would have a whole node only if B gave four.
TEST(PhillyTenants, NobodyGivesMoreThanItWasLent) {
  const TenantTree tenants = quotas({6, 14});
  World world("5x4", philly_with(tenants));
  EXPECT_EQ(world.at(0, {job(2, kA)}), "@0 start 0 on 0:2");
  for (int i = 1; i < 5; ++i) world.at(i, {job(3, kB)});
  for (int i = 5; i < 9; ++i) world.at(i, {job(1, kB)});
  EXPECT_EQ(world.state().ledger.free_gpus(NodeId(0)), 2);
  EXPECT_EQ(world.state().ledger.free_gpus(), 2) << "90% busy";
  EXPECT_EQ(world.at(10, {job(4, kA)}), "");
  EXPECT_EQ(world.state().waiting, 1U);
}

TEST(PhillyTenants, NobodyIsStoppedForAFavour) {
  const TenantTree tenants = quotas({1, 4, 15});
  World world("2x10", philly_with(tenants));
  EXPECT_EQ(world.at(0, {job(9, kB), job(9, kB)}), "@0 start 0 on 0:9, @0 start 1 on 1:9");
  // Two GPUs are free but not together, and A's part is one: both live on what C does not use.
  EXPECT_EQ(world.at(1, {job(2, kA)}), "");
  EXPECT_EQ(world.at(450), "");
}

TEST(PhillyTenants, WhatItWasOnArrivalItRemains) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants, 100));
  EXPECT_EQ(world.at(0, {job(4, kB)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(90, {job(4, kB)}), "@90 start 1 on 1:4");
  EXPECT_EQ(world.at(150, {job(4, kA)}), "@150 stop 0, @150 start 2 on 0:4") << "1 is too young";
  EXPECT_FALSE(over_part_on_arrival(world, 0));
  EXPECT_TRUE(over_part_on_arrival(world, 1));
}

TEST(PhillyTenants, ACancelledOwnerLeavesNothingBehind) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants, 10'000));
  EXPECT_EQ(world.at(0, {job(4, kB), job(4, kB)}), "@0 start 0 on 0:4, @0 start 1 on 1:4");
  EXPECT_EQ(world.at(1, {job(4, kB)}), "");
  EXPECT_EQ(world.at(2, {job(4, kA)}), "") << "it asks, and its claim counts as held";
  EXPECT_EQ(world.at(3, {job(4, kA)}), "");
  EXPECT_EQ(world.at(60, {cancel(3)}), "");
  EXPECT_EQ(world.at(80, {world.end(0)}), "@80 start 4 on 0:4") << "the right is job 4's now";
}

TEST(PhillyTenants, ACancelledOwnerWhoRunsGivesItsPartBack) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants));
  EXPECT_EQ(world.at(0, {job(4, kA), job(4, kB)}), "@0 start 0 on 0:4, @0 start 1 on 1:4");
  EXPECT_EQ(world.at(1, {job(4, kB), job(4, kA)}), "");
  EXPECT_EQ(world.at(2, {cancel(0)}), "@2 stop 0, @2 start 3 on 0:4")
      << "not job 2, which has ended";
}

// Invariants: a stopped job immediately frees GPUs for another job and does not restart in the same
// plan. Tenants within their entitlement lose nothing.
TEST(PhillyTenantsProperty, EveryStopLetsAnotherJobStart) {
  int stops = 0;
  for (std::uint64_t seed = 0; seed < campaign_size(150, 150); ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce philly_with seed " << seed);
    Random random(seed);
    const TenantTree tenants = quotas({8, 4, 4}, random.below(2) == 0 ? 900 : 500);
    World world("4x4,racks=2", philly_with(tenants, random.below(2) == 0 ? 0 : 60));
    std::int64_t now = 0;
    int jobs = 0;
    for (int i = 0; i < 60; ++i) {
      now += static_cast<std::int64_t>(random.below(120));
      std::vector<Event> events;
      const std::span<const JobId> placed = world.state().placed;
      if (!placed.empty() && random.below(2) == 0) {
        events.push_back(world.end(static_cast<int>(placed[random.below(placed.size())].index())));
      }
      if (random.below(4) != 0) {
        events.push_back(
            job(static_cast<std::int32_t>(1 + random.below(6)), static_cast<int>(random.below(3))));
        ++jobs;
      } else if (jobs > 0) {
        events.push_back(cancel(static_cast<int>(random.below(static_cast<std::uint64_t>(jobs)))));
      }
      std::set<std::string> cancelled;
      for (const Event& event : events) {
        if (const auto* it = std::get_if<JobCancelled>(&event)) {
          cancelled.insert(std::to_string(it->job.index()));
        }
      }
      // Actions by instant: "@12 stop 3", "@12 start 4 on 0:2".
      std::map<std::string, std::set<std::string>> stopped;
      std::map<std::string, std::set<std::string>> started;
      const std::string text = world.at(now, events);
      for (const std::string_view action : split(text, ',')) {
        const std::vector<std::string_view> words = split(trim(action), ' ');
        if (words.size() < 3) continue;
        const std::string when(words[0]);
        const std::string who(words[2]);
        if (words[1] == "stop" && !cancelled.contains(who)) stopped[when].insert(who);
        if (words[1] == "start") started[when].insert(who);
      }
      for (const auto& [when, who] : stopped) {
        stops += static_cast<int>(who.size());
        ASSERT_FALSE(started[when].empty()) << text;
        for (const std::string& one : who) ASSERT_FALSE(started[when].contains(one)) << text;
      }
    }
  }
  EXPECT_GT(stops, campaign_floor(100));
}

// B holds twice its entitlement. It must release the younger half, which is on both nodes; A's gang
// needs one whole node. Stopping jobs 1 and 3 would free one, and B would keep its entitlement.
TEST(PhillyTenants, TakesBackWhatStandsTogether) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants));
  EXPECT_EQ(world.at(0, {job(2, kB)}), "@0 start 0 on 0:2");
  EXPECT_EQ(world.at(1, {job(2, kB)}), "@1 start 1 on 1:2");
  EXPECT_EQ(world.at(2, {job(2, kB)}), "@2 start 2 on 0:2");
  EXPECT_EQ(world.at(3, {job(2, kB)}), "@3 start 3 on 1:2");
  EXPECT_EQ(world.at(4, {job(4, kA)}), "@4 stop 3, @4 stop 1, @4 start 4 on 1:4");
}

// It is entitled to the GPUs and cannot reclaim them only for lack of locality, so it relaxes like
// any other job.
TEST(PhillyTenants, AnOwnerIsNotKeptOutForeverByLocality) {
  const TenantTree tenants = quotas({6, 2});
  World world("2x4", philly_with(tenants));
  break_both_nodes(world);
  EXPECT_EQ(world.at(4, {job(4, kA)}), "");
  world.at(20'000);
  EXPECT_EQ(world.state().jobs[JobId(4)].state, JobState::kPlaced);
}

// Its tenant holds nothing; what it claims itself is not what it waits for.
TEST(PhillyTenants, AnOwnerWhoAsksDoesNotWaitForItsShare) {
  const TenantTree tenants = quotas({4, 4});
  World world("2x4", philly_with(tenants, 10'000));
  EXPECT_EQ(world.at(0, {job(4, kB), job(4, kB)}), "@0 start 0 on 0:4, @0 start 1 on 1:4");
  EXPECT_EQ(world.at(1, {job(4, kA)}), "");
  EXPECT_EQ(world.waited(2, 101), "order 100");
  World broken("2x4", philly_with(tenants, 10'000));
  EXPECT_EQ(broken.at(0, {job(3, kB), job(3, kB)}), "@0 start 0 on 0:3, @0 start 1 on 1:3");
  EXPECT_EQ(broken.at(1, {job(2, kA)}), "");
  EXPECT_EQ(broken.waited(2, 101), "fragmentation 100");
}

}  // namespace
}  // namespace muster
