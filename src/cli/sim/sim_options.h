#pragma once

// Parsers of option values, shared by several options of `muster sim`.

#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// Splits a list such as "fifo, srtf" at commas and trims each word.
std::vector<std::string_view> words_of(std::string_view list);

// Parses a duration. The error message starts with the name of the option.
Result<Duration> parse_option(std::string_view option, std::string_view text);

}  // namespace muster
