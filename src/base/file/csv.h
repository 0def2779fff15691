#pragma once

// Comma-separated text and its relatives, cut into lines and fields without copying it. Knows the
// usual variants (a UTF-8 byte order mark, CRLF, blanks around a field, double quotes) and nothing
// of what the fields mean. A field ends with its line: there are no line breaks inside quotes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

// The longest line that readers of text files accept, in bytes.
inline constexpr std::size_t kLongestLine = 64 * 1024;

// Hands out the lines of a text one by one, without their ends. The text must outlive it.
class LineReader {
 public:
  explicit LineReader(std::string_view text);

  bool next();  // False at the end; line() and number() then keep their last values.
  std::string_view line() const { return line_; }
  std::int64_t number() const { return number_; }  // The first line is 1.

 private:
  std::string_view rest_;
  std::string_view line_;
  std::int64_t number_ = 0;
};

enum class Separator : std::uint8_t {
  kComma,  // Fields may be in double quotes.
  kTab,    // Quotes are like any other character.
  kBlanks  // Any number of blanks and tabs; so there are no empty fields.
};

// Cuts lines into fields, reusing its memory: fields() holds until the next split(). Unquoted
// fields lose the blanks around them, quoted ones keep theirs.
class FieldSplitter {
 public:
  // The error says what is wrong with the quotes, not where.
  Refusal split(std::string_view line, Separator separator = Separator::kComma);
  const std::vector<std::string_view>& fields() const { return fields_; }

 private:
  Refusal split_at_commas(std::string_view line);
  void split_at_tabs(std::string_view line);
  void split_at_blanks(std::string_view line);
  Refusal take_quoted(std::string_view line, std::size_t* at);

  std::vector<std::string_view> fields_;
  std::string unquoted_;  // Never grows while a line is split, so views into it stay good.
};

}  // namespace muster
