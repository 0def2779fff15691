#pragma once

// Limits the size of progress.jsonl, to which a job appends. The shim shortens the file in place,
// because the job can hold it open. The first line then contains how many bytes were removed, so
// that readers keep their position. The job owns the file, so its content and kind are not trusted.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/os/files.h"

namespace muster {

inline constexpr std::int64_t kMaxProgressBytes = 1 << 20;  // A longer file is shortened.
inline constexpr std::size_t kMaxProgressLine = 4096;
inline constexpr int kMaxProgressRate = 100;  // Lines per second; readers drop more.
inline constexpr const char* kProgressName = "progress.jsonl";

// Shortens the file to its last half if it is larger than kMaxProgressBytes. Does nothing if it is
// not a regular file of this user with one name. Never blocks.
void cap_progress(const Fd& directory);

// Returns the bytes removed so far; 0 if none. Returns nullopt while the file is being shortened.
std::optional<std::int64_t> progress_removed(int file);

// Whether the line is the one that contains the removed bytes.
bool is_progress_header(std::string_view line);

}  // namespace muster
