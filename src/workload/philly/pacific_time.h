#pragma once

// Converts US Pacific local time to UTC, for logs in local time. It uses the rule in force since
// 2007: daylight saving time (UTC-7 instead of UTC-8) from the second Sunday of March to the first
// Sunday of November, at 2:00 each. In 2017 these were 12 March and 5 November. The Philly log
// contains the second change.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/types/time.h"

namespace muster {

// Local time as seconds since 1970-01-01 00:00:00 local time.
using WallTime = std::int64_t;

// Parses "2017-10-09 07:02:33". Returns nullopt for other text, for dates such as 31 June and for
// years outside 1970 to 2199.
std::optional<WallTime> parse_wall_time(std::string_view text);

// Parses "2017-10-09 07:02:33 PDT" or "... PST". The zone in the text determines the offset.
std::optional<Instant> parse_zoned_time(std::string_view text);

// Converts local time to UTC, as microseconds since 1970. It caches the last year, so it is not
// thread-safe.
class PacificClock {
 public:
  // Uses the first of the two repeated hours in November. In the skipped hour in March it uses
  // standard time.
  Instant utc(WallTime wall) { return at(wall, in_summer(wall)); }

  // Like utc(), but uses the second repeated hour if the first is before `earliest` and the second
  // is not. A job can start in the first and end in the second.
  Instant utc_not_before(WallTime wall, Instant earliest);

  // Returns whether the time is in the repeated hour.
  bool comes_twice(WallTime wall) { return in_summer(wall) && wall >= summer_end_ - 3600; }

 private:
  static Instant at(WallTime wall, bool summer) {
    return Instant::at(Duration::seconds(wall + (summer ? 7 : 8) * 3600));
  }
  bool in_summer(WallTime wall) {
    if (wall < year_begin_ || wall >= year_end_) [[unlikely]] {
      go_to_year_of(wall);
    }
    return wall >= summer_begin_ && wall < summer_end_;
  }
  void go_to_year_of(WallTime wall);

  WallTime year_begin_ = 0;
  WallTime year_end_ = 0;
  WallTime summer_begin_ = 0;
  WallTime summer_end_ = 0;
};

}  // namespace muster
