#include "workload/philly/pacific_time.h"

#include <gtest/gtest.h>

#include <string_view>

namespace muster {
namespace {

WallTime wall(std::string_view text) { return parse_wall_time(text).value(); }
std::int64_t utc_seconds(Instant time) { return time.us() / 1'000'000; }

TEST(WallTime, CountsSecondsSince1970) {
  EXPECT_EQ(wall("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(wall("2017-10-09 07:02:33"), 1507532553);
  EXPECT_EQ(wall("2000-02-29 23:59:59"), 951868799);
  EXPECT_EQ(wall("2199-12-31 23:59:59"), 7258118399);
}

TEST(WallTime, RefusesWhatIsNoTime) {
  for (const char* const text : {"",
                                 "None",
                                 "2017-10-09",
                                 "2017-10-09 07:02",
                                 "2017-10-09T07:02:33",
                                 "2017-10-09 07:02:3x",
                                 "2017-13-01 00:00:00",
                                 "2017-00-01 00:00:00",
                                 "2017-06-31 00:00:00",
                                 "2017-02-29 00:00:00",
                                 "2017-10-09 24:00:00",
                                 "2017-10-09 07:60:00",
                                 "2017-10-09 07:02:60",
                                 "1969-12-31 23:59:59",
                                 "2200-01-01 00:00:00",
                                 "2017-10-09 07:02:33 ",
                                 "2017/10/09 07:02:33",
                                 "-017-10-09 07:02:33",
                                 "2017-10-09 07:02:3\xb3",
                                 "\xff\xff\xff\xff-10-09 07:02:33",
                                 "2017-1:-09 07:02:33"}) {
    EXPECT_FALSE(parse_wall_time(text)) << text;
  }
}

void expect_utc(const char* pacific, const char* utc) {
  EXPECT_EQ(utc_seconds(PacificClock().utc(wall(pacific))), wall(utc)) << pacific;
}

TEST(PacificClock, IsSevenHoursBehindInSummerAndEightInWinter) {
  expect_utc("2017-10-09 07:02:33", "2017-10-09 14:02:33");
  expect_utc("2017-12-09 07:02:33", "2017-12-09 15:02:33");
  expect_utc("2017-01-09 07:02:33", "2017-01-09 15:02:33");
  expect_utc("2018-07-01 00:00:00", "2018-07-01 07:00:00");
}

TEST(PacificClock, ChangesOnTheSundaysOf2017) {
  expect_utc("2017-03-12 01:59:59", "2017-03-12 09:59:59");
  expect_utc("2017-03-12 02:30:00", "2017-03-12 10:30:00");
  expect_utc("2017-03-12 03:00:00", "2017-03-12 10:00:00");
  expect_utc("2017-11-05 00:59:59", "2017-11-05 07:59:59");
  expect_utc("2017-11-05 02:00:00", "2017-11-05 10:00:00");
}

TEST(PacificClock, TakesTheFirstOfTheHourThatComesTwiceUnlessTooEarly) {
  PacificClock clock;
  const WallTime half_past_one = wall("2017-11-05 01:30:00");
  EXPECT_TRUE(clock.comes_twice(half_past_one));
  EXPECT_TRUE(clock.comes_twice(wall("2017-11-05 01:00:00")));
  EXPECT_FALSE(clock.comes_twice(wall("2017-11-05 00:59:59")));
  EXPECT_FALSE(clock.comes_twice(wall("2017-11-05 02:00:00")));
  EXPECT_FALSE(clock.comes_twice(wall("2017-11-06 01:30:00")));
  const Instant first = clock.utc(half_past_one);
  const Instant second = first + Duration::seconds(3600);
  EXPECT_EQ(utc_seconds(first), wall("2017-11-05 08:30:00"));
  EXPECT_EQ(clock.utc_not_before(half_past_one, first), first);
  EXPECT_EQ(clock.utc_not_before(half_past_one, first + Duration::seconds(1)), second);
  EXPECT_EQ(clock.utc_not_before(half_past_one, second), second);
  // The second hour is also too early, so the result is the first.
  EXPECT_EQ(clock.utc_not_before(half_past_one, second + Duration::seconds(1)), first);
}

TEST(ZonedTime, BelievesTheZone) {
  const auto seconds = [](std::string_view text) {
    return utc_seconds(parse_zoned_time(text).value());
  };
  EXPECT_EQ(seconds("2017-11-05 01:30:00 PDT"), wall("2017-11-05 08:30:00"));
  EXPECT_EQ(seconds("2017-11-05 01:30:00 PST"), wall("2017-11-05 09:30:00"));
  for (const char* const text : {"", " PDT", "2017-11-05 01:30:00", "2017-11-05 01:30:00 UTC",
                                 "2017-11-05 01:30:00PDT", "2017-11-05 01:30:00 PDT "}) {
    EXPECT_FALSE(parse_zoned_time(text)) << text;
  }
}

}  // namespace
}  // namespace muster
