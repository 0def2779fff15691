#pragma once

// Scenarios in which a tenant reclaims lent GPUs, for all planners with quotas. Tenant A has its
// quota; tenant B has borrowed from it.

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "engine/planner/testing.h"

namespace muster {

inline constexpr int kA = 0;
inline constexpr int kB = 1;

// On "2x4" with quotas 4 and 4: B borrows idle GPUs.
inline void expect_idle_gpus_are_lent(World& world) {
  EXPECT_EQ(world.at(0, {job(4, kB)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(1, {job(4, kB)}), "@1 start 1 on 1:4") << "above its entitlement";
  EXPECT_FALSE(world.engine().waited(JobId(0), Instant()).over_part_on_arrival);
  EXPECT_TRUE(world.engine().waited(JobId(1), Instant()).over_part_on_arrival);
}

// On "2x4" with quotas 4 and 4: A's job starts before B's, which came first but would borrow.
inline void expect_rights_before_favours(World& world) {
  EXPECT_EQ(world.at(0, {job(4, kB)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(5, {job(4, kB), job(4, kA)}), "@5 start 2 on 1:4");
  EXPECT_EQ(world.at(25), "");
  EXPECT_EQ(world.waited(1, 25), "fair-share 20");
  EXPECT_EQ(world.at(30, {world.end(0)}), "@30 start 1 on 0:4") << "now within its entitlement";
  EXPECT_EQ(world.waited(1, 99), "fair-share 25");
}

// On "2x4" with fair sharing: the tenant with the fewest GPUs starts first.
inline void expect_those_furthest_below_come_first(World& world) {
  EXPECT_EQ(world.at(0, {job(4, kB), job(4, kA)}), "@0 start 0 on 0:4, @0 start 1 on 1:4");
  EXPECT_EQ(world.at(5, {job(2, kB), job(2, kA)}), "");
  EXPECT_EQ(world.at(10, {world.end(1)}), "@10 start 3 on 1:2, @10 start 2 on 1:2");
}

// On "3x4" with quotas 4 and 8: B borrows a node; A's job stops the youngest of B's.
inline void expect_the_youngest_stops(World& world) {
  EXPECT_EQ(world.at(0, {job(4, kB)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(10, {job(4, kB)}), "@10 start 1 on 1:4");
  EXPECT_EQ(world.at(20, {job(4, kB)}), "@20 start 2 on 2:4");
  EXPECT_EQ(world.at(30, {job(4, kA)}), "@30 stop 2, @30 start 3 on 2:4");
}

// On "3x4" with quotas 6 and 6: B has all twelve GPUs. A reclaims its six on these nodes, but not
// two more.
inline void expect_no_more_than_was_lent(World& world, const std::array<std::string, 3>& nodes) {
  for (int i = 0; i < 6; ++i) world.at(i, {job(2, kB)});
  EXPECT_EQ(world.at(10, {job(2, kA)}), "@10 stop 5, @10 start 6 on " + nodes[0] + ":2");
  EXPECT_EQ(world.at(11, {job(2, kA)}), "@11 stop 4, @11 start 7 on " + nodes[1] + ":2");
  EXPECT_EQ(world.at(12, {job(2, kA)}), "@12 stop 3, @12 start 8 on " + nodes[2] + ":2");
  EXPECT_EQ(world.at(13, {job(2, kA)}), "") << "that would be borrowing";
  EXPECT_EQ(world.at(1000), "");
  EXPECT_EQ(world.waited(9, 1000), "fair-share 987");
}

// On "2x10" with quotas 10 and 10: job 2 is the youngest, but stopping it would not help A's.
inline void expect_who_is_not_in_the_way_stays(World& world) {
  EXPECT_EQ(world.at(0, {job(8, kB)}), "@0 start 0 on 0:8");
  EXPECT_EQ(world.at(1, {job(8, kB)}), "@1 start 1 on 1:8");
  EXPECT_EQ(world.at(3, {job(2, kB)}), "@3 start 2 on 0:2");
  EXPECT_EQ(world.at(4, {job(10, kA)}), "@4 stop 1, @4 start 3 on 1:10");
  EXPECT_TRUE(world.state().jobs[JobId(2)].state == JobState::kPlaced);
}

// On "2x4" with quotas 4 and 4, where no job is stopped in its first 100 seconds.
inline void expect_nobody_stops_too_soon(World& world) {
  EXPECT_EQ(world.at(0, {job(4, kB)}), "@0 start 0 on 0:4");
  EXPECT_EQ(world.at(90, {job(4, kB)}), "@90 start 1 on 1:4");
  EXPECT_EQ(world.at(99, {job(4, kA)}), "") << "both are still within min_run";
}

}  // namespace muster
