#pragma once

// Counts of the rows that a reader skipped and the values that it changed, and the notes about
// them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workload/trace/format.h"

namespace muster {

// Reason for skipping a row.
enum class SkippedRows : std::uint8_t { kPart, kNoGpus, kNeverRan, kNotEnded, kEndsEarly };
inline constexpr std::size_t kLeftOutReasons = 5;

struct ReadSummary {
  std::array<std::int64_t, kLeftOutReasons> left_out = {};
  std::vector<std::int64_t> cut_short;  // Jobs that did not complete, by FormatSpec::states.
  std::int64_t rounded_up = 0;          // Jobs with fractional GPUs.
  std::int64_t several_types = 0;       // Jobs that accept several GPU types.
  std::int64_t late = 0;                // Jobs that follow a job with a later submit time.

  explicit ReadSummary(const FormatSpec& format) : cut_short(format.states.size(), 0) {}
  std::int64_t all_left_out() const;
};

// Returns one sentence with a count for each count that is not zero.
std::vector<std::string> notes_of(const ReadSummary& tally, const FormatSpec& format);

}  // namespace muster
