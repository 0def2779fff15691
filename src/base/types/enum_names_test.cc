#include "base/types/enum_names.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

enum class Fruit { kApple, kPear, kPlum };
constexpr EnumNames<Fruit, Fruit::kPlum> kFruitNames({"apple", "pear", "plum"});

TEST(EnumNames, NamesEveryEnumerator) {
  EXPECT_EQ(kFruitNames[Fruit::kApple], "apple");
  EXPECT_EQ(kFruitNames[Fruit::kPlum], "plum");
}

TEST(EnumNames, FindsByTheWholeName) {
  EXPECT_EQ(kFruitNames.find("pear"), Fruit::kPear);
  EXPECT_EQ(kFruitNames.find("pea"), std::nullopt);
  EXPECT_EQ(kFruitNames.find(""), std::nullopt);
}

}  // namespace
}  // namespace muster
