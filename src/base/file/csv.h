#pragma once

// Splits CSV and similar text into lines and fields without copying it. Supports a UTF-8 byte order
// mark, CRLF, blanks around a field and double quotes. Quoted fields cannot contain line breaks.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

// The longest line that readers of text files accept, in bytes.
inline constexpr std::size_t kLongestLine = 64 * 1024;

// Iterates over the lines of a text, without their line ends. The text must outlive the reader.
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
  kComma,  // Fields can be in double quotes.
  kTab,    // Quotes are like any other character.
  kBlanks  // Any number of blanks and tabs, so there are no empty fields.
};

// Splits lines into fields and reuses its memory: fields() is valid until the next split(). Blanks
// around unquoted fields are removed. Quoted fields keep theirs.
class FieldSplitter {
 public:
  // Fails if the quotes are wrong. The error has no file and line; the caller adds them.
  MaybeError split(std::string_view line, Separator separator = Separator::kComma);
  const std::vector<std::string_view>& fields() const { return fields_; }

 private:
  MaybeError split_at_commas(std::string_view line);
  void split_at_tabs(std::string_view line);
  void split_at_blanks(std::string_view line);
  MaybeError take_quoted(std::string_view line, std::size_t* at);

  std::vector<std::string_view> fields_;
  std::string unquoted_;  // Never grows during split(), so views into it stay valid.
};

}  // namespace muster
