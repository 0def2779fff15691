#pragma once

// A whole file into memory, or one line that says why not.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

inline constexpr std::size_t kLargestFile = std::size_t{2} << 30;

// Reads regular files and pipes (so /dev/stdin works) of at most kLargestFile bytes. Refuses
// directories, devices and what begins like a binary file; for a missing file it names the nearest
// one in the same directory. Every error begins with the path.
Result<std::string> read_text_file(const std::string& path);

// True when the first kilobyte has a byte no text has.
bool looks_binary(std::string_view text);

}  // namespace muster
