#pragma once

// What the columns of each trace format are called and what they fill in. Data, and the choice of a
// format by looking at the first line; row_reader.h and reader.h do the reading.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/file/csv.h"

namespace muster {

enum class Field : std::uint8_t {
  kIgnored,  // Says nothing that other columns do not, or only what happened elsewhere.
  kUnused,   // Says something we have no use for: a note names it.
  kId,
  kSubmit,
  kStart,  // With kEnd, where there is no duration. Without a kSubmit also the submission.
  kEnd,
  kDuration,
  kEstimate,
  kGpus,
  kGpusHeld,    // What the job got; stands in for a kGpus that is not there.
  kGpuParts,    // GPUs an instance, as a number that need not be whole.
  kGpuPercent,  // The same in hundredths.
  kGpuMilli,    // Thousandths that the job needs of each of its GPUs.
  kInstances,
  kFewest,
  kMost,
  kIterations,
  kBatch,
  kModel,
  kUser,
  kTenant,
  kName,
  kGpuType,
  kGpuChoice,  // Types, one of which it must be: "V100|P100".
  kState,
};

enum class FieldKind : std::uint8_t {
  kNone,    // Not read.
  kNumber,  // Read by NumberReader; times and the words of a kState count as numbers.
  kText     // Read by NameReader.
};
FieldKind kind_of(Field field);

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

// Where a job's run time comes from.
enum class Timing : std::uint8_t {
  kGiven,       // kDuration.
  kClock,       // From kStart to kEnd.
  kIterations,  // kIterations times what the profile says one takes.
  kThroughput  // kIterations, or else those of the throughput table, over the steps a second there.
};

// What becomes of rows that are not a job on GPUs which ran to its end.
enum class Rows : std::uint8_t {
  kAll,    // They are refused, as are rows that are not in order of arrival.
  kUsable  // They are left out and counted; the rest is put in order of arrival.
};

enum class Outcome : std::uint8_t {
  kDone,
  kCutShort,  // Failed, was cancelled, ran out of time: a job all the same, and counted.
  kNeverRan,
  kNotEnded,
  kPart,  // One of several stretches of a job that has a row of its own as well.
};

struct StateWord {
  std::string_view word;
  Outcome outcome;
  std::string_view shown;  // In notes; only of kCutShort.
};

struct FormatSpec {
  std::string_view name;      // Several specs of one name are variants of one format.
  std::string_view doc = {};  // One line for users; only the first variant has it.
  std::span<const FormatColumn> columns;
  ModelRule models = ModelRule::kFreeText;
  Timing timing = Timing::kGiven;
  Rows rows = Rows::kAll;
  bool has_header = true;  // Otherwise the columns stand as listed here.
  bool is_ours = false;    // Ours has no unknown columns.
  bool has_dates = false;  // Times are "2020-06-09 18:41:01" rather than seconds.
  char comment = '\0';     // Lines that begin with it are comments.
  Separator separator = Separator::kComma;
  std::span<const std::string_view> missing = {};  // Stand for a value that is not there.
  std::span<const StateWord> states = {};          // Of kState.
  std::string_view note = {};                      // What to know of every trace of the format.
};

// Whether the text is one of the format's words for a value that is not there.
inline bool stands_for_nothing(const FormatSpec& format, std::string_view text) {
  return std::find(format.missing.begin(), format.missing.end(), text) != format.missing.end();
}

// All of them, in the order of preference.
std::span<const FormatSpec> format_specs();

// The first variant of that name, or null when there is none.
const FormatSpec* find_format(std::string_view name);

// The format, among those of that name or, if it is empty, among all, whose rows look like this
// first line or whose columns it names most of. Null when none is likely; with a name, the variant
// that comes nearest.
const FormatSpec* detect_format(std::string_view first_line, std::string_view name);

}  // namespace muster
