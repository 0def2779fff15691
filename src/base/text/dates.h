#pragma once

// Parses dates as they appear in logs, such as "2020-06-09 18:41:01".

#include <cstdint>
#include <string_view>

#include "base/types/result.h"

namespace muster {

struct Date {
  std::int64_t seconds = 0;  // Since 2001-01-01 00:00:00; in UTC if the text has a zone.
  bool has_zone = false;
};

// Parses a day and a time, separated by a blank or a T. "Z" or a zone such as "+08:00" can follow.
// The year must be from 2001 to 2099, so that no two dates are further apart than a trace can be
// long. The error message has no file and line; the caller adds them.
Result<Date> parse_date(std::string_view text);

}  // namespace muster
