#pragma once

// UTF-8 text from files and people: validation, iteration over characters, and what is safe to
// print. Names and ids come from files of unknown origin, so text that goes to a terminal or into
// JSON passes through here first. Pure functions on top of utf8proc; independent of the locale.

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

struct Utf8Char {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

// The first character of a text that is not empty. A byte that begins no well-formed sequence
// (RFC 3629) is not valid, is one byte long and reads as U+FFFD, so that a loop over any bytes
// ends.
Utf8Char first_utf8_char(std::string_view text);

bool is_utf8(std::string_view text);

// Why a text cannot be a name in tables, JSON and terminals, or null: it must be UTF-8 without
// control characters other than tabs.
const char* text_fault(std::string_view text);

// The text with everything that could move the cursor, hide or reorder letters shown as '?', and
// bad UTF-8 as U+FFFD. These are control and format characters, line and paragraph separators, and
// code points that are not assigned.
std::string printable(std::string_view text);

// Columns a printable text takes on a terminal: two for East Asian wide characters and emoji, none
// for combining marks, otherwise one.
std::size_t display_width(std::string_view text);

}  // namespace muster
