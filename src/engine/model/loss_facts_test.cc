#include "engine/model/loss_facts.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LossFacts, FollowTheFormulaWithoutPoints) {
  const LossFacts facts{0.3, 0.5, 1};
  EXPECT_EQ(facts.at(0), 3);
  EXPECT_EQ(facts.at(5), 1.5);
}

TEST(LossFacts, AreLinearBetweenRecordedPoints) {
  LossFacts facts;
  facts.points = {4, 2, 3};
  facts.epochs = 20;
  EXPECT_EQ(facts.at(0), 4);
  EXPECT_EQ(facts.at(5), 3);
  EXPECT_EQ(facts.at(10), 2);
  EXPECT_EQ(facts.at(12.5), 2.25);
  EXPECT_EQ(facts.at(20), 3);
  EXPECT_EQ(facts.at(1e9), 3) << "constant after the recorded epochs";
}

}  // namespace
}  // namespace muster
