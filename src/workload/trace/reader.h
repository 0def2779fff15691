#pragma once

// Reads trace files: Muster's own CSV format and the public formats. The result is a complete,
// validated trace (ascending submit times, unique ids, numbers in range) or a one-line error with
// file, line, column and value. Trace::notes lists unused columns, skipped rows and changed values.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/profile.h"
#include "workload/input/throughputs_file.h"
#include "workload/trace/trace.h"

namespace muster {

struct TraceFormat {
  std::string_view name;
  std::string_view doc;  // One line for `muster trace formats`.
};

// Returns all formats from format_table.cc. If a file matches two formats, the first one wins.
std::vector<TraceFormat> trace_formats();

inline constexpr std::size_t kMaxJobs = 50'000'000;

// Reads the file at `path`. An empty `format` means: detect it from the first line. `profiles`
// lists the known models, and their iteration times if the format has iterations but no durations.
// `throughputs` (optional) has step rates per model, batch size and number of GPUs.
Result<Trace> read_trace(const std::string& path, std::string_view format,
                         const ProfileTable& profiles,
                         const ThroughputTable* throughputs = nullptr);

// Like read_trace(), from memory. `source_name` is used as the path in messages and in
// Trace::source.
Result<Trace> parse_trace(std::string_view text, std::string_view source_name,
                          std::string_view format, const ProfileTable& profiles,
                          const ThroughputTable* throughputs = nullptr);

}  // namespace muster
