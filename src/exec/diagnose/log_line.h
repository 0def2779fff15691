#pragma once

// Analyzes one line of a log for LogScan: its prefixes, its time, and whether it reports a problem.
// All functions accept arbitrary bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// A line without prefixes (times, ranks, hosts, log levels) and without colors.
struct BareLine {
  std::string_view text;
  int rank = -1;  // From a prefix such as "[rank3]:" or "[1,3]<stderr>:"; -1 if none.
};

// Removes prefixes and colors. `scratch` contains the text if colors were removed.
BareLine bare(std::string_view line, std::string& scratch);

// Returns the first date and time at the start of the line, in microseconds. The year is ignored,
// because some loggers do not print it.
std::optional<std::int64_t> time_of(std::string_view line);

// Why a match is not a cause of the failure.
enum class IgnoredMatch : std::uint8_t {
  kNone,
  kRemark,    // Logged as information. Only infrastructure failures count.
  kWarning,   // The line is a warning.
  kGoesOn,    // The line reports a retry, a skip or a fallback.
  kQuoted,    // A comment, a hint or a text about errors.
  kFileName,  // The match is part of a name.
  kHandled,   // A failed lookup whose handler then failed for another reason.
  kSurvived,  // Training continued after it.
  kCaught,    // The program continued, and a later traceback ends the log.
};
// Returns the reason as text, for explain().
std::string_view words_of(IgnoredMatch ignored);

// Classifies the match of bytes `begin` to `end` in a bare line.
IgnoredMatch ignored_match_of(std::string_view line, std::size_t begin, std::size_t end);

// Whether the line shows training progress: "epoch 3 step 200 loss 0.31", "12.5 it/s". Not if it
// contains "nan".
bool shows_progress(std::string_view line);

// Whether the line reports that training ended successfully: "Training finished".
bool shows_success(std::string_view line);

// Whether the line reports what may happen and not what happened: "may be cancelled", "0 times".
bool is_only_possible(std::string_view line);

// Whether it is the last line of a traceback: "KeyError: 'x'", "torch.cuda.OutOfMemoryError: ...".
bool is_exception(std::string_view line);
// Whether it is the exception of a failed lookup, such as KeyError.
bool is_lookup(std::string_view line);
// Whether it is a line of normal work: it reports no problem and does not continue a message.
bool is_ordinary(std::string_view line);

// Returns the line for display and JSON: valid UTF-8 without control characters, cut to `most`
// bytes with "..." at the end.
std::string clean(std::string_view line, std::size_t most);

}  // namespace muster
