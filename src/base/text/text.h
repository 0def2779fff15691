#pragma once

// Small text helpers for what people write and read: numbers, durations, lists, near misses.

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

// Letters of ASCII small, the rest as it is, whatever the locale.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lowered(std::string_view text);

// Whole text or nothing; no leading plus sign, no surrounding blanks, no NaN, no infinity.
// The error says only what is wrong ("not a whole number: 'two'"); the caller says where.
Result<std::int64_t> parse_int(std::string_view text);
Result<double> parse_number(std::string_view text);

// "300s", "5m", "2h", "1.5d", "250ms"; a bare number is seconds. Never negative.
Result<Duration> parse_duration(std::string_view text);

// Seconds as a trace writes them, "12" or "0.001", to whole microseconds. Never negative.
Result<Duration> parse_seconds(std::string_view text);

// The candidate a person most likely meant by `word`, or empty if none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean 'srtf'?" or, when nothing is near, "; one of: fifo, srtf, ...".
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

// "a, b, c, d and 7 more".
std::string first_few(std::span<const std::string> names);

// As one word of a command line of sh, whatever is in it.
std::string shell_word(std::string_view word);

// The text in single quotes, cut to a readable length, with unprintable bytes shown as \xNN: safe
// to print whatever a file contained.
std::string in_quotes(std::string_view text);

// "1.23 s", "45.0 s", "12.5 min", "3.40 h", "2.10 d": about three figures, for tables.
std::string short_duration(Duration duration);

// Millionths as a decimal number, up to six decimals and no trailing zeros: "1.5" for 1,500,000.
void append_millionths(std::string& out, std::int64_t millionths);
// The same as text of its own: seconds as written to files.
std::string seconds_text(std::int64_t micros);

template <class Integer>
void append_int(std::string& out, Integer value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

}  // namespace muster
