#pragma once

// Descriptions of the trace formats: column names, their fields and how to interpret rows. Also
// detects the format from the first line. row_reader.h and reader.h read the files.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/file/csv.h"

namespace muster {

enum class Field : std::uint8_t {
  kIgnored,  // Redundant, or about the run in the original cluster. Ignored without a note.
  kUnused,   // Information that Muster does not use. A note lists the column.
  kId,
  kSubmit,
  kStart,  // With kEnd, if there is no duration. Without kSubmit, also the submit time.
  kEnd,
  kDuration,
  kEstimate,
  kGpus,
  kGpusHeld,    // GPUs that the job was given; used if kGpus is missing.
  kGpuParts,    // GPUs per instance; may be fractional.
  kGpuPercent,  // GPUs per instance, in percent of a GPU.
  kGpuMilli,    // Thousandths that the job needs of each of its GPUs.
  kInstances,
  kMin,
  kMax,
  kIterations,
  kBatch,
  kModel,
  kUser,
  kTenant,
  kName,
  kGpuType,
  kGpuChoice,  // List of acceptable types: "V100|P100".
  kState,
};

enum class FieldKind : std::uint8_t {
  kNone,    // Not read.
  kNumber,  // Read by NumberReader; includes times and kState.
  kText     // Read by NameReader.
};
FieldKind kind_of(Field field);

enum class Need : std::uint8_t { kRequired, kOptional };

struct FormatColumn {
  std::string_view name;
  Field field;
  Need need;
};

// Which model names a format accepts.
enum class ModelRule : std::uint8_t {
  kFreeText,     // Any text. A note counts the jobs whose model has no profile.
  kProfile,      // Empty, or the name of a profile.
  kTimedProfile  // The name of a profile with iteration_seconds(), which gives the duration.
};

// Source of a job's run time.
enum class Timing : std::uint8_t {
  kGiven,       // kDuration.
  kClock,       // From kStart to kEnd.
  kIterations,  // kIterations times the iteration time in the profile.
  kThroughput   // Steps divided by the steps per second in the throughput table. The steps are
                // kIterations, or come from that table if the format has no such column.
};

// How to handle rows that are not a finished job with GPUs.
enum class Rows : std::uint8_t {
  kAll,    // They are errors, as are rows that are not in order of arrival.
  kUsable  // They are skipped and counted. The other rows are sorted by arrival.
};

enum class Outcome : std::uint8_t {
  kDone,
  kCutShort,  // Failed, cancelled or timed out. The row is still a job; a note counts it.
  kNeverRan,
  kNotEnded,
  kPart,  // Part of a job that also has a row for the whole job.
};

struct StateWord {
  std::string_view word;
  Outcome outcome;
  std::string_view shown;  // Text for notes; only for kCutShort.
};

struct FormatSpec {
  std::string_view name;      // Specs with the same name are variants of one format.
  std::string_view doc = {};  // One-line description; only the first variant has one.
  std::span<const FormatColumn> columns;
  ModelRule models = ModelRule::kFreeText;
  Timing timing = Timing::kGiven;
  Rows rows = Rows::kAll;
  bool has_header = true;  // If false, the file has the columns in the order of `columns`.
  bool is_ours = false;    // Muster's own format, in which an unknown column is an error.
  bool has_dates = false;  // Times are "2020-06-09 18:41:01" rather than seconds.
  char comment = '\0';     // Lines that begin with it are comments; '\0': no comments.
  Separator separator = Separator::kComma;
  std::span<const std::string_view> missing = {};  // Texts that mean "no value".
  std::span<const StateWord> states = {};          // Values of kState.
  std::string_view note = {};                      // Added to the notes of each trace.
};

// Returns whether `text` means "no value" in this format.
inline bool stands_for_nothing(const FormatSpec& format, std::string_view text) {
  return std::find(format.missing.begin(), format.missing.end(), text) != format.missing.end();
}

// Returns all formats in order of preference.
std::span<const FormatSpec> format_specs();

// Returns the first variant with this name, or null if there is none.
const FormatSpec* find_format(std::string_view name);

// Returns the format that matches the first line best: as a row, or as a header with the most known
// columns. Considers only variants with this name, or all formats if `name` is empty. If nothing
// matches, returns the closest variant with this name, or null if `name` is empty.
const FormatSpec* detect_format(std::string_view first_line, std::string_view name);

}  // namespace muster
