#include "live/lease/lease_runner.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

LeaseOverInput part(LeaseResult fate, std::int64_t ran_ms) {
  LeaseOverInput over;
  over.fate = fate;
  over.ran_ms = ran_ms;
  over.cpu_ms = 10;
  return over;
}

TEST(LeaseRunner, AGangIsLostWithAnyOfItsServers) {
  // The other parts often fail because of it, which is not the job's fault.
  const std::vector<LeaseOverInput> parts = {part(LeaseResult::kFailed, 30),
                                             part(LeaseResult::kLost, 20),
                                             part(LeaseResult::kStopped, 40)};
  const LeaseOverInput whole = merge_ends(parts);
  EXPECT_EQ(whole.fate, LeaseResult::kLost);
  EXPECT_EQ(whole.ran_ms, 40);
  EXPECT_EQ(whole.cpu_ms, 30);
}

TEST(LeaseRunner, AFailureSaysMoreThanTheStopsThatFollow) {
  const std::vector<LeaseOverInput> parts = {part(LeaseResult::kStopped, 1),
                                             part(LeaseResult::kFinished, 1),
                                             part(LeaseResult::kFailed, 1)};
  EXPECT_EQ(merge_ends(parts).fate, LeaseResult::kFailed);
}

}  // namespace
}  // namespace muster
