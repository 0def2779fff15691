#pragma once

// Dates as logs write them, "2020-06-09 18:41:01", as seconds on a line of their own.

#include <cstdint>
#include <string_view>

#include "base/types/result.h"

namespace muster {

struct Date {
  std::int64_t seconds = 0;  // Since 2001-01-01 00:00:00, in UTC if there is a zone.
  bool has_zone = false;
};

// Day and time apart by a blank or a T, and behind them nothing, "Z" or a zone such as "+08:00".
// Of the years 2001 to 2099, so that no two are further apart than a trace may be long. The error
// says only what is wrong.
Result<Date> parse_date(std::string_view text);

}  // namespace muster
