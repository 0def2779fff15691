#pragma once

// Date and time of day as logs write them.

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

// "2017-10-09 07:02:33" as seconds since 1970-01-01 00:00:00, without a time zone. Years 0000 to
// 9999, so it may be negative. Returns nullopt for anything else, such as a 31 June.
std::optional<std::int64_t> parse_date_time(std::string_view text);

}  // namespace muster
