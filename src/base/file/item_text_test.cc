#include "base/file/item_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

void expect_equal(const Item& a, const Item& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.line, b.line);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.text, b.text);
  ASSERT_EQ(a.items.size(), b.items.size());
  for (std::size_t i = 0; i < a.items.size(); ++i) expect_equal(a.items[i], b.items[i]);
}

TEST(ItemText, ReadsBackWhatItWrote) {
  const Result<Item> read = parse_document(
      "# A comment.\n"
      "top:\n"
      "  - name: with spaces, commas and a:colon\n"
      "    empty:\n"
      "    list: [1, 2.5, three]\n"
      "  - {deep: {deeper: [[x], []]}}\n",
      "test.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  expect_equal(from_lines(to_lines(read.value())), read.value());
}

TEST(ItemTextDeathTest, ChecksThatItIsWhole) {
  EXPECT_DEATH(from_lines("3 1 2\ttop\t\n1 1 0\tkey\tvalue\n"), "");
  EXPECT_DEATH(from_lines("1 1 0\tkey\tvalue\n1 1 0\tkey\tvalue\n"), "");
}

}  // namespace
}  // namespace muster
