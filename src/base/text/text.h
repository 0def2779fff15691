#pragma once

// Helpers for text that users write and read: numbers, durations, lists, spelling suggestions.

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

// Convert ASCII letters to lowercase and keep all other bytes, independently of the locale.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lowered(std::string_view text);

// Parse the whole text. A leading plus sign, surrounding blanks, NaN and infinity are errors. The
// message has no place ("not a whole number: 'two'"); the caller adds it.
Result<std::int64_t> parse_int(std::string_view text);
Result<double> parse_number(std::string_view text);

// Parses "300s", "5m", "2h", "1.5d", "250ms". A plain number is seconds. Never negative.
Result<Duration> parse_duration(std::string_view text);

// Parses seconds of a trace, "12" or "0.001", rounded to microseconds. Never negative.
Result<Duration> parse_seconds(std::string_view text);

// Returns the candidate that is most similar to `word`, or "" if none is similar.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// Returns "; did you mean 'queue', 'serve'?" with up to three similar candidates, most similar
// first; empty if none is similar.
std::string few_suggestions(std::string_view word, std::span<const std::string_view> candidates);

// Returns "; did you mean 'srtf'?" or, if no candidate is similar, "; one of: fifo, srtf, ...".
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

// Returns "a, b, c, d and 7 more".
std::string first_few(std::span<const std::string> names);

// Quotes any text as one word of an sh command line.
std::string shell_word(std::string_view word);

// Returns the text in single quotes, cut to a readable length, with unprintable bytes as \xNN. The
// result is safe to print for any input.
std::string in_quotes(std::string_view text);

// "1.23 s", "45.0 s", "12.5 min", "3.40 h", "2.10 d": about three significant digits, for tables.
std::string short_duration(Duration duration);

// Appends millionths as a decimal number without trailing zeros: "1.5" for 1,500,000.
void append_millionths(std::string& out, std::int64_t millionths);
// Returns microseconds as seconds, in the format of append_millionths(), for files.
std::string seconds_text(std::int64_t micros);

template <class Integer>
void append_int(std::string& out, Integer value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

}  // namespace muster
