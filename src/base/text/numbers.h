#pragma once

// Quick number parsing for large files: without the cost of an error message. Where these return
// nothing, base/text/text.h has the functions that say why.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/types/time.h"

namespace muster {

std::optional<std::int64_t> whole_number(std::string_view text);

// "12" or "12.345" to the microsecond, which a double cannot hold for long times; what we write
// must read back as it was. Empty for every other way to write a number.
std::optional<Duration> plain_seconds(std::string_view text);

}  // namespace muster
