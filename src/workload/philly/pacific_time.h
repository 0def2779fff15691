#pragma once

// The clocks on the wall of a cluster on the US Pacific coast, whose logs are in local time. They
// follow the rule of 2017, in force since 2007: an hour ahead, seven hours behind UTC instead of
// eight, from the second Sunday of March to the first Sunday of November, at 2 in the morning each.
// In 2017 that was 12 March and 5 November; the Philly log crosses the second.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/types/time.h"

namespace muster {

// What a clock on the wall shows, as seconds since it showed 1970-01-01 00:00:00.
using WallTime = std::int64_t;

// "2017-10-09 07:02:33", or nothing for anything else, such as a 31 June. Years 1970 to 2199.
std::optional<WallTime> parse_wall_time(std::string_view text);

// "2017-10-09 07:02:33 PDT" or "... PST": which of the two offsets holds is said, and believed.
std::optional<Instant> parse_zoned_time(std::string_view text);

// Wall time to UTC, as microseconds since 1970. Remembers the last year asked for.
class PacificClock {
 public:
  // In the hour that comes twice, the first; in the hour that never comes, as if the clock had not
  // been put forward yet.
  Instant utc(WallTime wall) { return at(wall, in_summer(wall)); }

  // The same, but in the hour that comes twice the second if the first would be before `earliest`
  // and the second is not: what began in the first may end in the second.
  Instant utc_not_before(WallTime wall, Instant earliest);

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
