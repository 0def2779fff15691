#pragma once

// What is in a trace, in numbers and as a page for the terminal. Pure: a trace in, values out.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types/time.h"
#include "workload/trace/trace.h"
#include "workload/trace/writer.h"

namespace muster {

struct GpuSizeCount {
  std::int32_t gpus = 0;
  std::int64_t jobs = 0;
  double gpu_hours = 0;
};

struct TraceInfo {
  std::int64_t jobs = 0;
  Instant first_submit;
  Instant last_submit;
  Duration span;  // From the first to the last submission.
  double gpu_hours = 0;
  std::vector<GpuSizeCount> sizes;  // Ascending by gpus.

  // Run times. The percentile p of n sorted values is the one at index floor(p * n); p50 is the
  // median, the mean of the middle two where there are two.
  Duration p10, p50, p90, p99, longest, mean;

  // Distinct names that jobs use; the empty one does not count.
  std::size_t users = 0;
  std::size_t tenants = 0;
  std::size_t models = 0;
  std::size_t gpu_types = 0;

  std::vector<ColumnUse> filled;  // What the trace has and lacks beside times and GPUs.

  // GPUs in use if every job started when submitted, on a cluster without end; the mean is over the
  // time from the first submission to the last job's end (0 when that is no time at all).
  std::int64_t peak_gpus = 0;
  double mean_gpus = 0;
};

// All zeros for a trace without jobs.
TraceInfo describe(const Trace& trace);

enum class Glyphs : std::uint8_t { kAscii, kUnicode };

// describe() as tables and small charts, at most `width` columns (62 to 160 are heeded) but for
// long file names and notes. No colours; ends with a line break.
std::string info_text(const Trace& trace, int width, Glyphs glyphs);

}  // namespace muster
