#pragma once

// Validates UTF-8 text, iterates over its characters and makes it safe to print. Names and ids come
// from untrusted files, so all text for a terminal or for JSON passes through these functions. They
// are pure functions based on utf8proc and do not depend on the locale.

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

struct Utf8Char {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

// Returns the first character of a non-empty text. A byte that does not begin a well-formed
// sequence (RFC 3629) is returned as an invalid character of one byte, U+FFFD. A loop over any
// bytes therefore ends.
Utf8Char first_utf8_char(std::string_view text);

bool is_utf8(std::string_view text);

// Returns why the text cannot be a name in tables, JSON and terminals, or null if it can. A valid
// name is UTF-8 without control characters other than tabs.
const char* text_fault(std::string_view text);

// Returns the text with '?' for each character that could move the cursor or hide or reorder other
// characters, and with U+FFFD for invalid UTF-8. The replaced characters are control and format
// characters, line and paragraph separators, and unassigned code points.
std::string printable(std::string_view text);

// Returns the number of terminal columns of a printable text: two for East Asian wide characters
// and emoji, zero for combining marks, one for all others.
std::size_t display_width(std::string_view text);

}  // namespace muster
