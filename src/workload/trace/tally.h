#pragma once

// What a reader left out and changed, in numbers, so that nothing of it happens in silence.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workload/trace/format.h"

namespace muster {

// Why a row is no job.
enum class LeftOut : std::uint8_t { kPart, kNoGpus, kNeverRan, kNotEnded, kEndsEarly };
inline constexpr std::size_t kLeftOutReasons = 5;

struct Tally {
  std::array<std::int64_t, kLeftOutReasons> left_out = {};
  std::vector<std::int64_t> cut_short;  // By the format's states.
  std::int64_t rounded_up = 0;          // Jobs that need parts of GPUs.
  std::int64_t several_types = 0;       // Jobs for which several GPU types will do.
  std::int64_t late = 0;                // Jobs that stood below ones submitted after them.

  explicit Tally(const FormatSpec& format) : cut_short(format.states.size(), 0) {}
  std::int64_t all_left_out() const;
};

// One sentence with a count for each that is not zero.
std::vector<std::string> notes_of(const Tally& tally, const FormatSpec& format);

}  // namespace muster
