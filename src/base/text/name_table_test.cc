#include "base/text/name_table.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(NameTable, StartsWithTheEmptyText) {
  NameTable table;
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.intern(""), 0u);
  EXPECT_EQ(table[0], "");
}

TEST(NameTable, NumbersTextsInOrderOfFirstSight) {
  NameTable table;
  EXPECT_EQ(table.intern("b"), 1u);
  EXPECT_EQ(table.intern("a"), 2u);
  EXPECT_EQ(table.intern("b"), 1u);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.find("a"), 2u);
  EXPECT_FALSE(table.find("c").has_value());
}

TEST(NameTable, KeepsIdsWhileGrowing) {
  NameTable table;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_EQ(table.intern("name number " + std::to_string(i)), i + 1);
  }
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_EQ(table.find("name number " + std::to_string(i)), i + 1);
  }
}

// The hash reads words of eight bytes. Strings of different lengths must stay distinct.
TEST(NameTable, TellsApartTextsThatShareWords) {
  NameTable table;
  const std::string zeros(20, '\0');
  for (std::size_t length = 0; length <= zeros.size(); ++length) {
    EXPECT_EQ(table.intern(std::string_view(zeros).substr(0, length)), length);
  }
}

}  // namespace
}  // namespace muster
