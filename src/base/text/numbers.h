#pragma once

// Fast number parsing for large files, without error messages. If these functions return nullopt,
// callers use the functions in base/text/text.h to get the message.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/types/time.h"

namespace muster {

std::optional<std::int64_t> whole_number(std::string_view text);

// Parses "12" or "12.345" exactly, to the microsecond. A double is not exact for long times, and
// times that Muster writes must read back unchanged. Returns nullopt for all other notations.
std::optional<Duration> plain_seconds(std::string_view text);

}  // namespace muster
