#pragma once

// Reads workloads that people have: our own CSV and the public formats. A trace comes back whole
// and checked (ascending arrivals, unique ids, sane numbers), or not at all with one line that
// names the file, line, column and culprit. What a format has and we do not use, and what was left
// out or changed, is said in Trace::notes.

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

// Every format, in the order of preference when a file could be two of them. From format_table.cc,
// which is the only list of formats.
std::vector<TraceFormat> trace_formats();

inline constexpr std::size_t kMostJobs = 50'000'000;

// An empty format means: find out. The profiles say which models exist and, where a format gives
// iterations instead of a duration, how long one takes; the throughputs say that of models, batch
// sizes and numbers of GPUs, and may be left out.
Result<Trace> read_trace(const std::string& path, std::string_view format,
                         const ProfileTable& profiles,
                         const ThroughputTable* throughputs = nullptr);

// The same from memory; source_name stands for the path in messages and in Trace::source.
Result<Trace> parse_trace(std::string_view text, std::string_view source_name,
                          std::string_view format, const ProfileTable& profiles,
                          const ThroughputTable* throughputs = nullptr);

}  // namespace muster
