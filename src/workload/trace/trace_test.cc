#include "workload/trace/trace.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(RenumberNames, FollowsTheJobs) {
  Trace trace;
  for (const char* const user : {"ann", "bob", "cid"}) trace.users.intern(user);
  trace.jobs.resize(3);
  trace.jobs[0].user = 3;
  trace.jobs[2].user = 1;
  renumber_names(trace);
  EXPECT_EQ(trace.users.size(), 3u);  // No job uses bob.
  EXPECT_EQ(trace.users[trace.jobs[0].user], "cid");
  EXPECT_EQ(trace.jobs[0].user, 1u);
  EXPECT_EQ(trace.jobs[1].user, 0u);
  EXPECT_EQ(trace.users[trace.jobs[2].user], "ann");
}

}  // namespace
}  // namespace muster
