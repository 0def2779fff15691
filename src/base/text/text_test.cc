#include "base/text/text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace muster {
namespace {

using Views = std::vector<std::string_view>;

TEST(Text, TrimsBlanksAtBothEnds) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, NamesTheFirstFew) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  const std::span<const std::string> all(names);
  EXPECT_EQ(first_few(all), "a, b, c, d and 2 more");
  EXPECT_EQ(first_few(all.first(4)), "a, b, c, d");
  EXPECT_EQ(first_few(all.first(1)), "a");
  EXPECT_EQ(first_few({}), "");
}

TEST(Text, SplitsKeepingEmptyParts) {
  EXPECT_EQ(split("a,b,,c", ','), (Views{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), Views{""});
  EXPECT_EQ(split(",", ','), (Views{"", ""}));
}

TEST(Text, LowersLettersOfAsciiAlone) {
  EXPECT_EQ(lowered("AZ-az_09@[`{"), "az-az_09@[`{");
  EXPECT_EQ(lowered("\xC3\x84"), "\xC3\x84");
  static_assert(lower('Q') == 'q' && lower('-') == '-');
}

TEST(Text, ParsesWholeNumbers) {
  EXPECT_EQ(parse_int("42").value(), 42);
  EXPECT_EQ(parse_int("-7").value(), -7);
  EXPECT_EQ(parse_int("9223372036854775807").value(), INT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "+1", "1.0", "0x10", "1e3", "two", "-"}) {
    ASSERT_FALSE(parse_int(bad).ok()) << bad;
    EXPECT_EQ(parse_int(bad).error().message, "not a whole number: '" + std::string(bad) + "'");
  }
  EXPECT_EQ(parse_int("9223372036854775808").error().message,
            "number too large: '9223372036854775808'");
}

TEST(Text, ParsesNumbers) {
  EXPECT_EQ(parse_number("2.5").value(), 2.5);
  EXPECT_EQ(parse_number("-1e-3").value(), -0.001);
  EXPECT_EQ(parse_number(".5").value(), 0.5);
  for (const char* bad : {"", " 1", "1 ", "+1", "nan", "inf", "-inf", "1,5", "0x1p3", "1e", "."}) {
    ASSERT_FALSE(parse_number(bad).ok()) << bad;
    EXPECT_EQ(parse_number(bad).error().message, "not a number: '" + std::string(bad) + "'");
  }
  EXPECT_EQ(parse_number("1e999").error().message, "number too large: '1e999'");
  EXPECT_EQ(parse_number("1e-999").error().message, "number too small: '1e-999'");
}

TEST(Text, ParsesDurations) {
  struct Row {
    const char* text;
    std::int64_t micros;
  };
  const Row rows[] = {{"300", 300'000'000},
                      {"300s", 300'000'000},
                      {"250ms", 250'000},
                      {"5m", 300'000'000},
                      {"2h", 7'200'000'000},
                      {"1.5d", 129'600'000'000},
                      {"0", 0},
                      {"0.0000004s", 0},
                      {"1e3s", 1'000'000'000},
                      {"0.000001s", 1},
                      {"3155760000s", 3'155'760'000'000'000}};
  for (const Row& row : rows) {
    const Result<Duration> duration = parse_duration(row.text);
    ASSERT_TRUE(duration.ok()) << row.text;
    EXPECT_EQ(duration.value().us(), row.micros) << row.text;
  }
  EXPECT_EQ(parse_duration("5 m").error().message,
            "not a duration: '5 m'; write 300s, 5m, 2h or 1d");
  EXPECT_EQ(parse_duration("s").error().message, "not a duration: 's'; write 300s, 5m, 2h or 1d");
  EXPECT_EQ(parse_duration("-5m").error().message, "negative: '-5m'");
  EXPECT_EQ(parse_duration("1e300d").error().message, "longer than 100 years: '1e300d'");
}

TEST(Text, ParsesSecondsOfTraces) {
  EXPECT_EQ(parse_seconds("12").value().us(), 12'000'000);
  EXPECT_EQ(parse_seconds("0.001").value().us(), 1000);
  EXPECT_EQ(parse_seconds("1e2").value().us(), 100'000'000);
  EXPECT_EQ(parse_seconds("-1").error().message, "negative: '-1'");
  EXPECT_EQ(parse_seconds("-0.5").error().message, "negative: '-0.5'");
  EXPECT_EQ(parse_seconds("3155760001").error().message, "longer than 100 years: '3155760001'");
  EXPECT_EQ(parse_seconds("99999999999999999999").error().message,
            "longer than 100 years: '99999999999999999999'");
  EXPECT_EQ(parse_seconds("5m").error().message, "not a number: '5m'");
}

TEST(Text, FindsTheNearestWord) {
  constexpr std::array<std::string_view, 5> kWords = {"fifo", "srtf", "las", "gpu", "gpus"};
  EXPECT_EQ(nearest("fifa", kWords), "fifo");
  EXPECT_EQ(nearest("strf", kWords), "srtf");  // A swap counts as one.
  EXPECT_EQ(nearest("banana", kWords), "");
  EXPECT_EQ(nearest("gpu", kWords), "gpu");
  EXPECT_EQ(nearest(std::string(1000, 'x'), kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest("fifo", {}), "");
}

TEST(Text, PrefersAWordCutShortToOneMistyped) {
  constexpr std::array<std::string_view, 2> kWords = {"gpu", "cpus"};
  EXPECT_EQ(nearest("cpu", kWords), "cpus");
}

TEST(Text, SuggestsAtMostThree) {
  static constexpr std::string_view kCommands[] = {"cart", "card", "care", "carp", "dog"};
  EXPECT_EQ(few_suggestions("car", kCommands), "; did you mean 'cart', 'card', 'care'?");
  EXPECT_EQ(few_suggestions("dig", kCommands), "; did you mean 'dog'?");
  EXPECT_EQ(few_suggestions("elephant", kCommands), "");
}

TEST(Text, SuggestsOrLists) {
  constexpr std::array<std::string_view, 2> kWords = {"fifo", "srtf"};
  EXPECT_EQ(suggestion("fif", kWords), "; did you mean 'fifo'?");
  EXPECT_EQ(suggestion("banana", kWords), "; one of: fifo, srtf");
}

// Qualified, because gtest declares std::quoted, which would be preferred for a std::string.
TEST(Text, QuotesSafely) {
  EXPECT_EQ(in_quotes("a b"), "'a b'");
  EXPECT_EQ(in_quotes("a\n\x1b[31m\xff"), "'a\\x0a\\x1b[31m\\xff'");
  EXPECT_EQ(in_quotes(std::string(61, 'a')), "'" + std::string(60, 'a') + "...'");
  EXPECT_EQ(in_quotes(std::string(60, 'a')), "'" + std::string(60, 'a') + "'");
}

TEST(Text, ShowsDurationsShort) {
  struct Row {
    double seconds;
    const char* text;
  };
  const Row rows[] = {{0, "0.00 s"},       {1.234, "1.23 s"},  {9.996, "10.0 s"},
                      {45, "45.0 s"},      {119.9, "119.9 s"}, {120, "2.00 min"},
                      {7199, "120.0 min"}, {12240, "3.40 h"},  {172800, "2.00 d"},
                      {8640000, "100.0 d"}};
  for (const Row& row : rows) {
    const auto micros = static_cast<std::int64_t>(row.seconds * 1e6);
    EXPECT_EQ(short_duration(Duration::micros(micros)), row.text);
  }
}

TEST(Text, WritesSecondsExactly) {
  EXPECT_EQ(seconds_text(0), "0");
  EXPECT_EQ(seconds_text(12'000'000), "12");
  EXPECT_EQ(seconds_text(1'500'000), "1.5");
  EXPECT_EQ(seconds_text(1), "0.000001");
  EXPECT_EQ(seconds_text(-250'000), "-0.25");
  EXPECT_EQ(seconds_text(INT64_MIN), "-9223372036854.775808");
}

TEST(Text, IsOneWordOfAShell) {
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b$c"), "'a b$c'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace muster
