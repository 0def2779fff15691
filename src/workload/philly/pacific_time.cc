#include "workload/philly/pacific_time.h"

#include <chrono>

#include "base/text/date_time.h"

namespace muster {

namespace {

using std::chrono::sys_days;
using std::chrono::year;
using std::chrono::year_month_day;

WallTime seconds_at(sys_days day) { return WallTime{day.time_since_epoch().count()} * 86400; }

}  // namespace

std::optional<WallTime> parse_wall_time(std::string_view text) {
  constexpr WallTime kYear2200 = 7'258'118'400;
  const std::optional<WallTime> wall = parse_date_time(text);
  return wall && *wall >= 0 && *wall < kYear2200 ? wall : std::nullopt;
}

std::optional<Instant> parse_zoned_time(std::string_view text) {
  const bool summer = text.ends_with(" PDT");
  if (!summer && !text.ends_with(" PST")) return std::nullopt;
  const std::optional<WallTime> wall = parse_wall_time(text.substr(0, text.size() - 4));
  if (!wall) return std::nullopt;
  return Instant::at(Duration::seconds(*wall + (summer ? 7 : 8) * 3600));
}

Instant PacificClock::utc_not_before(WallTime wall, Instant earliest) {
  const Instant first = utc(wall);
  if (first >= earliest || !comes_twice(wall)) return first;
  const Instant second = at(wall, false);
  return second >= earliest ? second : first;
}

void PacificClock::go_to_year_of(WallTime wall) {
  using std::chrono::floor;
  const std::chrono::sys_seconds time{std::chrono::seconds{wall}};
  const year that = year_month_day{floor<std::chrono::days>(time)}.year();
  const auto two_in_the_morning = [](sys_days day) { return seconds_at(day) + 2 * 3600; };
  year_begin_ = seconds_at(sys_days{that / std::chrono::January / 1});
  year_end_ = seconds_at(sys_days{(that + std::chrono::years{1}) / std::chrono::January / 1});
  // At 2:00 the clock jumps to 3:00. Times from 2:00 to 3:00 do not exist and count as winter.
  summer_begin_ =
      two_in_the_morning(sys_days{that / std::chrono::March / std::chrono::Sunday[2]}) + 3600;
  summer_end_ = two_in_the_morning(sys_days{that / std::chrono::November / std::chrono::Sunday[1]});
}

}  // namespace muster
