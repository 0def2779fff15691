#include "workload/generate/rhythm.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

WeekRhythm office_hours() {
  WeekRhythm rhythm;
  for (std::size_t hour = 0; hour < 24; ++hour) rhythm.hours[hour] = hour >= 9 && hour < 17 ? 4 : 1;
  for (std::size_t day = 0; day < 7; ++day) rhythm.days[day] = day < 5 ? 2 : 1;
  return rhythm;
}

TEST(RhythmicArrivals, FollowHoursAndDays) {
  RhythmicArrivals arrivals(office_hours(), 100, Random(1));
  std::vector<double> hours(24, 0);
  std::vector<double> days(7, 0);
  int count = 0;
  double last = 0;
  for (double at = arrivals.next(); at < 50 * 7 * 86'400.0; at = arrivals.next()) {
    ASSERT_GT(at, last);
    last = at;
    const auto hour = static_cast<std::size_t>(at / 3600);
    ++hours[hour % 24];
    ++days[hour / 24 % 7];
    ++count;
  }
  EXPECT_NEAR(count / (50.0 * 168), 100, 1);
  EXPECT_NEAR(hours[12] / hours[3], 4, 0.2);
  EXPECT_NEAR(hours[9] / hours[8], 4, 0.2);
  EXPECT_NEAR(days[0] / days[6], 2, 0.05);
}

TEST(RhythmicArrivals, MayBeRarerThanWeeks) {
  RhythmicArrivals arrivals(office_hours(), 1e-4, Random(2));
  double last = 0;
  for (int i = 0; i < 200; ++i) last = arrivals.next();
  EXPECT_NEAR(last / 3600 / 200, 1e4, 2e3);
}

}  // namespace
}  // namespace muster
