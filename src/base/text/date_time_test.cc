#include "base/text/date_time.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

TEST(DateTime, CountsSecondsSince1970) {
  EXPECT_EQ(parse_date_time("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(parse_date_time("2017-10-09 07:02:33"), 1507532553);
  EXPECT_EQ(parse_date_time("2000-02-29 23:59:59"), 951868799);
  EXPECT_EQ(parse_date_time("1969-12-31 23:59:59"), -1);
  EXPECT_EQ(parse_date_time("0000-01-01 00:00:00"), -62167219200);
  EXPECT_EQ(parse_date_time("9999-12-31 23:59:59"), 253402300799);
}

TEST(DateTime, RefusesImpossibleDatesAndTimes) {
  for (const char* const text :
       {"2017-13-01 00:00:00", "2017-00-01 00:00:00", "2017-06-31 00:00:00", "2017-02-29 00:00:00",
        "2017-10-09 24:00:00", "2017-10-09 07:60:00", "2017-10-09 07:02:60"}) {
    EXPECT_FALSE(parse_date_time(text)) << text;
  }
}

// Changes each character of a valid time to every other byte.
TEST(DateTime, LooksAtEveryCharacter) {
  const std::string right = "2017-10-09 07:02:33";
  for (std::size_t i = 0; i < right.size(); ++i) {
    const bool digit = right[i] >= '0' && right[i] <= '9';
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = right;
      text[i] = static_cast<char>(byte);
      const bool may_be = digit ? byte >= '0' && byte <= '9' : text == right;
      EXPECT_TRUE(may_be || !parse_date_time(text)) << i << " " << byte;
    }
  }
}

}  // namespace
}  // namespace muster
