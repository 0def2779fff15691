#include "base/text/dates.h"

#include <cstddef>
#include <optional>
#include <string>

#include "base/text/date_time.h"
#include "base/text/text.h"

namespace muster {

namespace {

constexpr std::size_t kLength = std::string_view("2020-06-09 18:41:01").size();
constexpr std::int64_t kYear2001 = 978'307'200;  // Seconds since 1970, like the next constant.
constexpr std::int64_t kYear2100 = 4'102'444'800;

// Returns the offset from UTC in seconds, positive to the east; nullopt if `zone` is not a zone.
std::optional<std::int64_t> zone_offset(std::string_view zone) {
  if (zone == "Z") return 0;
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return std::nullopt;
  std::int64_t number = 0;
  for (const std::size_t i : {1U, 2U, 4U, 5U}) {
    if (zone[i] < '0' || zone[i] > '9') return std::nullopt;
    number = number * 10 + (zone[i] - '0');
  }
  const std::int64_t hours = number / 100;
  const std::int64_t minutes = number % 100;
  if (hours > 14 || minutes > 59) return std::nullopt;
  return (zone[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

}  // namespace

Result<Date> parse_date(std::string_view text) {
  const auto wrong = [&] {
    return Error{"not a date and time: " + in_quotes(text) + "; write 2020-06-09 18:41:01"};
  };
  std::string wall(text.substr(0, kLength));
  if (wall.size() == kLength && wall[10] == 'T') wall[10] = ' ';
  const std::optional<std::int64_t> seconds = parse_date_time(wall);
  if (!seconds) return wrong();
  Date date;
  std::int64_t east = 0;
  if (const std::string_view zone = text.substr(kLength); !zone.empty()) {
    const std::optional<std::int64_t> offset = zone_offset(zone);
    if (!offset) return wrong();
    east = *offset;
    date.has_zone = true;
  }
  if (*seconds < kYear2001 || *seconds >= kYear2100) {
    return Error{"the year must be from 2001 to 2099: " + in_quotes(text)};
  }
  date.seconds = *seconds - kYear2001 - east;
  return date;
}

}  // namespace muster
