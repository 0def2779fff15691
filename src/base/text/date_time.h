#pragma once

// Parses a date and time of day as they appear in logs.

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

// Parses "2017-10-09 07:02:33" and returns the seconds since 1970-01-01 00:00:00, without a time
// zone. Negative before 1970; the years 0000 to 9999 are valid. Returns nullopt for any other text,
// for example for 31 June.
std::optional<std::int64_t> parse_date_time(std::string_view text);

}  // namespace muster
