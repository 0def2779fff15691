#pragma once

// Small pieces of text for reports. Names and ids come from files strangers wrote, so what goes to
// a terminal or into JSON passes through here first. Pure functions; nothing depends on the locale.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

struct Utf8Char {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

// The first character of a text that is not empty. A byte that begins no well-formed sequence is
// not valid, is one byte long and reads as U+FFFD, so that a loop over any bytes ends.
Utf8Char first_utf8_char(std::string_view text);

// The text with everything that could move the cursor, hide or reorder letters shown as '?', and
// bad UTF-8 as U+FFFD.
std::string printable(std::string_view text);

// Columns a printable text takes on a terminal: two for East Asian wide characters, none for
// combining marks, otherwise one.
std::size_t display_width(std::string_view text);

// "82,247".
std::string grouped(std::uint64_t number);

// Millionths as a decimal number, up to six decimals and no trailing zeros: "1.5" for 1,500,000.
// The same text as seconds_text(), for files with millions of them.
void append_millionths(std::string& out, std::int64_t millionths);

// CPUs and GB in millionths, of what leases count in.
inline std::int64_t cpus_in_millionths(std::int64_t cpu_milli) { return cpu_milli * 1000; }
inline std::int64_t gb_in_millionths(std::int64_t mem_mib) {
  return (mem_mib * 1'000'000 + 512) / 1024;
}

template <class Integer>
void append_int(std::string& out, Integer value) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

// A finite value rounded to whole millionths, for append_millionths(); at most 9e12 either way.
std::int64_t in_millionths(double value);

}  // namespace muster
