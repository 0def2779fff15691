#include "live/lease/hands.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

LeaseOverInput part(LeaseFate fate, std::int64_t ran_ms) {
  LeaseOverInput over;
  over.fate = fate;
  over.ran_ms = ran_ms;
  over.cpu_ms = 10;
  return over;
}

TEST(Hands, AGangIsLostWithAnyOfItsServers) {
  // The rest has often failed because of it, which is no fault of the job.
  const std::vector<LeaseOverInput> parts = {
      part(LeaseFate::kFailed, 30), part(LeaseFate::kLost, 20), part(LeaseFate::kStopped, 40)};
  const LeaseOverInput whole = whole_of(parts);
  EXPECT_EQ(whole.fate, LeaseFate::kLost);
  EXPECT_EQ(whole.ran_ms, 40);
  EXPECT_EQ(whole.cpu_ms, 30);
}

TEST(Hands, AFailureSaysMoreThanTheStopsThatFollow) {
  const std::vector<LeaseOverInput> parts = {
      part(LeaseFate::kStopped, 1), part(LeaseFate::kFinished, 1), part(LeaseFate::kFailed, 1)};
  EXPECT_EQ(whole_of(parts).fate, LeaseFate::kFailed);
}

}  // namespace
}  // namespace muster
