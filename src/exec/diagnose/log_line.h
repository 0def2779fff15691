#pragma once

// One line of a log: what a launcher or logger put in front of it, when it was written, and whether
// it speaks of trouble at all. LogScan asks; everything here takes any bytes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// A line without what stands in front: times, ranks, hosts, levels of loggers, colours.
struct BareLine {
  std::string_view text;
  int rank = -1;  // As a prefix such as "[rank3]:" or "[1,3]<stderr>:" says; -1 if none does.
};

// `scratch` holds the text if colours had to be cut out of it.
BareLine bare(std::string_view line, std::string& scratch);

// The first time of day with a date in the first bytes of the line, as microseconds of the year;
// years are left out, since some loggers do not print them.
std::optional<std::int64_t> time_of(std::string_view line);

// Why a match is no cause of failure.
enum class Decoy : std::uint8_t {
  kNone,
  kRemark,    // The line is logged as information: no cause, unless of the infrastructure.
  kWarning,   // The line is a warning.
  kGoesOn,    // It says that it tries again, skips or does without.
  kQuoted,    // A comment, a hint, a text about errors.
  kFileName,  // The words are a part of a name.
  kHandled,   // A look-up that failed, and then its handler failed for a better reason.
  kSurvived,  // Training went on after it.
  kCaught,    // The program went on after the traceback, and a later one ends the log.
};
std::string_view words_of(Decoy decoy);

// Of a match of bytes begin to end in a bare line.
Decoy decoy_of(std::string_view line, std::size_t begin, std::size_t end);

// Whether training goes on: "epoch 3 step 200 loss 0.31", "12.5 it/s". Not where it says "nan".
bool shows_progress(std::string_view line);

// "KeyError: 'x'", "torch.cuda.OutOfMemoryError: ...": the last line of a traceback.
bool is_exception(std::string_view line);
// One by which programs ask whether something is there: KeyError and the like.
bool is_lookup(std::string_view line);
// A line of a program that goes about its work: nothing of trouble, no part of a longer message.
bool is_ordinary(std::string_view line);

// For people and JSON: no control characters, valid UTF-8, cut to `most` bytes with "..." at the
// end.
std::string clean(std::string_view line, std::size_t most);

}  // namespace muster
