#include "engine/model/pairs.h"

#include <gtest/gtest.h>

#include <limits>

namespace muster {
namespace {

constexpr ProfileId kA(1);
constexpr ProfileId kB(2);
constexpr ProfileId kC(3);

TEST(PairTable, AnswersInEitherOrder) {
  PairTable pairs;
  EXPECT_TRUE(pairs.empty());
  pairs.add(kA, kB, 1, {0.75, 0.5});
  pairs.add(kC, kB, 1, {0.25, 1});
  EXPECT_FALSE(pairs.empty());
  EXPECT_EQ(pairs.find(kA, kB, 1), (PairSpeed{0.75, 0.5}));
  EXPECT_EQ(pairs.find(kB, kA, 1), (PairSpeed{0.5, 0.75}));
  EXPECT_EQ(pairs.find(kC, kB, 1), (PairSpeed{0.25, 1}));
  EXPECT_EQ(pairs.find(kB, kC, 1), (PairSpeed{1, 0.25}));
}

TEST(PairTable, KnowsOnlyWhatWasMeasured) {
  PairTable pairs;
  pairs.add(kA, kB, 2, {0.75, 0.5});
  EXPECT_FALSE(pairs.find(kA, kB, 1).has_value());  // On another number of GPUs.
  EXPECT_FALSE(pairs.find(kA, kC, 2).has_value());
  EXPECT_FALSE(pairs.find(kA, kA, 2).has_value());
  EXPECT_FALSE(pairs.fits(kA, kB, 1));
  EXPECT_TRUE(pairs.fits(kA, kB, 2));
}

TEST(PairTable, TakesTwoOfOneKind) {
  PairTable pairs;
  pairs.add(kA, kA, 1, {0.6, 0.6});
  EXPECT_EQ(pairs.find(kA, kA, 1), (PairSpeed{0.6, 0.6}));
}

TEST(PairTable, ReplacesWhatItKnew) {
  PairTable pairs;
  pairs.add(kA, kB, 1, {0.75, 0.5});
  pairs.add(kB, kA, 1, {0.3, 0.9});
  EXPECT_EQ(pairs.find(kA, kB, 1), (PairSpeed{0.9, 0.3}));
}

TEST(PairTable, FitsOnlyIfNeitherIsStopped) {
  PairTable pairs;
  pairs.add(kA, kA, 1, {0, 0});
  pairs.add(kA, kB, 1, {0, 1});
  pairs.add(kB, kB, 1, {0.1, 0.1});
  EXPECT_FALSE(pairs.fits(kA, kA, 1));
  EXPECT_FALSE(pairs.fits(kA, kB, 1));
  EXPECT_FALSE(pairs.fits(kB, kA, 1));
  EXPECT_TRUE(pairs.fits(kB, kB, 1));
  EXPECT_TRUE(pairs.find(kA, kA, 1).has_value());  // Measured anyway.
}

TEST(PairTableDeathTest, ChecksSpeedsAndGpus) {
  PairTable pairs;
  EXPECT_DEATH(pairs.add(kA, kB, 1, {-0.1, 1}), "");
  EXPECT_DEATH(pairs.add(kA, kB, 1, {1, std::numeric_limits<double>::infinity()}), "");
  EXPECT_DEATH(pairs.add(kA, kB, 0, {1, 1}), "");
}

}  // namespace
}  // namespace muster
