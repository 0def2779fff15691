#include "base/text/utf8.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Utf8, ReadsCharactersOfEveryLength) {
  const auto expect = [](std::string_view text, char32_t code, std::size_t bytes) {
    const Utf8Char c = first_utf8_char(text);
    EXPECT_TRUE(c.valid) << text;
    EXPECT_EQ(c.code, code) << text;
    EXPECT_EQ(c.bytes, bytes) << text;
  };
  expect("a", U'a', 1);
  expect("\u00e9x", 0xe9, 2);
  expect("\u4e2d", 0x4e2d, 3);
  expect("\U0001f600", 0x1f600, 4);
  expect("\U0010ffff", 0x10ffff, 4);
  expect(std::string_view("\0", 1), 0, 1);
}

TEST(Utf8, ReadsABadByteAsOneCharacter) {
  for (const char* const bad :
       {"\x80", "\xff", "\xc0\xaf", "\xc3(", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xe4\xb8", "\xf8\x88\x80\x80\x80"}) {
    const Utf8Char c = first_utf8_char(bad);
    EXPECT_FALSE(c.valid) << bad;
    EXPECT_EQ(c.code, 0xfffdU) << bad;
    EXPECT_EQ(c.bytes, 1U) << bad;
    EXPECT_FALSE(is_utf8(bad)) << bad;
    EXPECT_STREQ(text_fault(bad), "not UTF-8 text") << bad;
  }
  EXPECT_TRUE(is_utf8("\u00e9\u4e2d\U0001f600"));
  EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, NamesHaveNoControlCharactersButTabs) {
  EXPECT_EQ(text_fault("a\tb \u4e2d"), nullptr);
  EXPECT_STREQ(text_fault("a\nb"), "control character in text");
  EXPECT_STREQ(text_fault("\x7f"), "control character in text");
}

TEST(Utf8, PrintsNothingThatMovesHidesOrReorders) {
  EXPECT_EQ(printable("gr\u00fc\u00dfe \u4e2d\U0001f600 e\u0301"),
            "gr\u00fc\u00dfe \u4e2d\U0001f600 e\u0301");
  EXPECT_EQ(printable("\x1b[31m\a\x7f\n\u0085"), "?[31m????");
  // Zero width, text direction, separators, byte order mark, noncharacters.
  for (const char* const text :
       {"\u200b", "\u200d", "\u202e", "\u2028", "\u2029", "\u2066", "\u061c", "\ufeff",
        "\U000e0041", "\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    EXPECT_EQ(printable(text), "?") << text;
  }
  EXPECT_EQ(printable("a\xff\xc3("), "a\ufffd\ufffd(");
}

TEST(Utf8, CountsColumns) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("\u2026\u2500\u28ff"), 3U);
  EXPECT_EQ(display_width("\u4e2d\uff21\U0001f680"), 6U);
  EXPECT_EQ(display_width("\u093f\u05b0"), 0U);  // Combining marks of other scripts.
}

}  // namespace
}  // namespace muster
