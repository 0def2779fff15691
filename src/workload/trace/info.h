#pragma once

// Statistics about a trace, as numbers and as a page for the terminal. `muster trace info` uses it.
// The functions are pure: their results depend only on the arguments.

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

  // Run times. Percentile p of n sorted values is the value at index floor(p * n). p50 is the
  // median: the mean of the two middle values if n is even.
  Duration p10, p50, p90, p99, longest, mean;

  // Number of distinct names that jobs use, without the empty name.
  std::size_t users = 0;
  std::size_t tenants = 0;
  std::size_t models = 0;
  std::size_t gpu_types = 0;

  std::vector<ColumnUse> filled;  // Number of jobs with a value, per optional column.

  // GPUs in use if every job started when it was submitted, on an unlimited cluster. The mean
  // covers the time from the first submission to the last end of a job, and is 0 if no job has a
  // run time.
  std::int64_t peak_gpus = 0;
  double mean_gpus = 0;
};

// Returns all zeros for a trace without jobs. O(n log n) for n jobs.
TraceInfo describe(const Trace& trace);

enum class Glyphs : std::uint8_t { kAscii, kUnicode };

// Returns describe() as tables and small charts, without colors and with a final line break. Lines
// have at most `width` columns, clamped to 62..160, except for long file names and notes.
std::string info_text(const Trace& trace, int width, Glyphs glyphs);

}  // namespace muster
