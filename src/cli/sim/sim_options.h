#pragma once

// Words that several options of `muster sim` have in common.

#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

// "fifo, srtf" as a person writes it.
std::vector<std::string_view> words_of(std::string_view list);

// A duration, with the option named in what is wrong with it.
Result<Duration> parse_option(std::string_view option, std::string_view text);

}  // namespace muster
