// The queue order equals the order in which a plan starts jobs when all GPUs are free.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/chain/tenants_testing.h"

namespace muster::tenants_testing {
namespace {

std::string line_of(const World& world, std::int64_t second, std::size_t most = 1000) {
  const auto line = world.engine().queue_order(Instant::at(Duration::seconds(second)), most);
  if (!line) return "none";
  std::string text;
  for (const JobId job : *line) text += (text.empty() ? "" : " ") + std::to_string(job.index());
  return text;
}

// "start 3 on s0, start 1 on s0" -> "3 1".
std::string order_of(std::string text) {
  std::string order;
  for (std::size_t at = text.find("start "); at != std::string::npos;
       at = text.find("start ", at)) {
    at += 6;
    order += (order.empty() ? "" : " ") + text.substr(at, text.find(' ', at) - at);
  }
  return order;
}

constexpr PolicyTraits kBackfill = {PolicyTraits::BlockedHeadRule::kReserve, false, false};
constexpr PolicyTraits kTetris = {PolicyTraits::BlockedHeadRule::kAlign, false, false};

TEST(ChainLine, GoesByPriorityAndRank) {
  World world("1x8", tenants("a 8"));
  World preempting("1x8", tenants("a 8"), {.policy = kPreempting});
  for (World* each : {&world, &preempting}) {
    each->at(0, {each->job("a", 8, 1)});
    JobSubmitted urgent = each->job("a", 1, 900);
    urgent.spec.priority = 5;
    each->at(1, {each->job("a", 4, 30), each->job("a", 2, 20), urgent, each->job("a", 4, 10)});
  }
  EXPECT_EQ(line_of(world, 2), "3 4 2 1");
  EXPECT_EQ(line_of(world, 2, 2), "3 4") << "at most the requested number";
  EXPECT_EQ(line_of(world, 2, 0), "");
  EXPECT_EQ(line_of(preempting, 2), "0 1")
      << "stopped for the urgent job, next to which others fit";
}

TEST(ChainLine, ATenantsOwnComesBeforeWhatItBorrows) {
  World world("1x8", tenants("a 4, b 4"));
  world.at(0, {world.job("b", 4, 1), world.job("b", 4, 1)});
  world.at(1, {NodeClosed{NodeId(0)}});
  world.at(2, {world.job("b", 2, 1), world.job("a", 3, 8), world.job("a", 3, 9)});
  EXPECT_EQ(line_of(world, 3), "3 2 4") << "the second job of a would borrow and ranks behind";
}

TEST(ChainLine, UsersWhoHoldLeastGoFirstWhereTheyTakeTurns) {
  World world("1x8", tenants("a 0", Sharing::kFair));
  world.at(0, {NodeClosed{NodeId(0)}});
  world.at(1, {world.job("a", 1, 1, 1), world.job("a", 1, 2, 1), world.job("a", 1, 3, 1),
               world.job("a", 1, 4, 2)});
  EXPECT_EQ(line_of(world, 2), "0 3 1 2");
}

TEST(ChainLine, WhereThereIsNoFirstThereIsNoLine) {
  World world("1x8", tenants("a 8"), {.policy = kTetris});
  world.at(0, {world.job("a", 8), world.job("a", 8)});
  EXPECT_EQ(line_of(world, 1), "none");
}

// All nodes are closed while jobs arrive, then all open at the same time. The plan must start the
// jobs in exactly the predicted order.
TEST(ChainLine, IsTheOrderInWhichAPlanStartsThem) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const PolicyTraits policy = round % 3 == 0 ? kFitFirst : round % 3 == 1 ? kFifo : kBackfill;
    const Sharing sharing = round % 4 == 3 ? Sharing::kFair : Sharing::kQuota;
    World world("1x60", tenants("lab 20, lab/x 8, lab/y 6, other 10, rich 30", sharing),
                {.policy = policy});
    world.at(0, {NodeClosed{NodeId(0)}});
    std::vector<Event> jobs;
    std::int32_t left = 60;
    while (left > 0) {
      const auto gpus = std::min(left, static_cast<std::int32_t>(1 + random.below(6)));
      const char* names[] = {"x", "y", "other", "rich"};
      jobs.push_back(world.job(names[random.below(4)], gpus,
                               static_cast<std::int64_t>(1 + random.below(9)),
                               static_cast<int>(random.below(3))));
      left -= gpus;
    }
    EXPECT_EQ(world.at(1, jobs), "");
    const std::string told = line_of(world, 2);
    EXPECT_EQ(order_of(world.at(2, {NodeOpened{NodeId(0)}})), told) << "round " << round;
  }
}

}  // namespace
}  // namespace muster::tenants_testing
