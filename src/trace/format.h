#pragma once

// What the columns of each trace format are called and what they fill in. Data, and the choice of a
// format by looking at the first line; reader.cc does the reading.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace muster {

enum class Field : std::uint8_t {
  kIgnored,
  kId,
  kSubmit,
  kGpus,
  kFewest,
  kMost,
  kDuration,
  kEstimate,
  kIterations,
  kModel,
  kUser,
  kTenant,
  kName,
  kGpuType,
};

enum class Need : std::uint8_t { kRequired, kOptional };

struct FormatColumn {
  std::string_view name;
  Field field;
  Need need;
};

// What a model's name must be.
enum class ModelRule : std::uint8_t {
  kFreeText,     // Anything; those without a profile are counted in a note.
  kProfile,      // Empty, or that of a profile.
  kTimedProfile  // That of a profile with iteration_seconds(), from which the duration follows.
};

struct FormatSpec {
  std::string_view name;  // As in trace_formats().
  std::span<const FormatColumn> columns;
  ModelRule models;
  bool has_header;  // Otherwise the columns stand as listed here.
  bool is_ours;     // Ours has comment lines and no unknown columns.
};

// Null when there is none of that name.
const FormatSpec* find_format(std::string_view name);

// The format whose columns the header names most of, or the one without a header if the fields look
// like a row of it; null when none is likely.
const FormatSpec* detect_format(const std::vector<std::string_view>& first_line);

}  // namespace muster
