// Tests of servers: they pass, fail, or take too long, and nothing waits for them.

#include "live/lease/node_tests.h"

#include <gtest/gtest.h>

#include <thread>

namespace muster {
namespace {

using std::chrono::milliseconds;

NodeTestInput wait_for(NodeTests& tests) {
  for (int i = 0; i < 12'000; ++i) {
    const std::vector<NodeTestInput> over = tests.finished();
    if (!over.empty()) return over.front();
    std::this_thread::sleep_for(milliseconds(10));
  }
  return {};
}

TEST(NodeTests, PassByTheirExitStatusAndKnowTheirServer) {
  NodeTests tests;
  EXPECT_FALSE(tests.busy());
  tests.begin("left", {"sh", "-c", "test \"$MUSTER_NODE\" = left"});
  EXPECT_TRUE(tests.busy());
  const NodeTestInput left = wait_for(tests);
  EXPECT_EQ(left.node, "left");
  EXPECT_TRUE(left.ok) << left.words;
  EXPECT_FALSE(tests.busy());
  tests.begin("right", {"sh", "-c", "test \"$MUSTER_NODE\" = left"});
  const NodeTestInput right = wait_for(tests);
  EXPECT_FALSE(right.ok);
  EXPECT_EQ(right.words, "'sh' exited with status 1");
}

TEST(NodeTests, SayWhatKeptThemFromPassing) {
  NodeTests tests;
  tests.begin("a", {"/no/such/test"});
  EXPECT_EQ(wait_for(tests).words, "cannot run '/no/such/test': No such file or directory");
  tests.begin("a", {"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(wait_for(tests).words, "'sh' was killed by signal 9");
}

TEST(NodeTests, MayNotTakeTooLong) {
  NodeTests tests(milliseconds(100));
  tests.begin("a", {"sleep", "600"});
  tests.begin("a", {"true"});  // One is under way.
  EXPECT_EQ(wait_for(tests).words, "'sleep' timed out");
  tests.begin("a", {"sleep", "600"});  // Ended with its owner.
}

}  // namespace
}  // namespace muster
