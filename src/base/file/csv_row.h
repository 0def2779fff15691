#pragma once

// Builds one line of a CSV file, field by field. Muster writes all CSV files with this class and
// reads them with csv.h.

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "base/text/text.h"

namespace muster {

class CsvRow {
 public:
  enum class LineBreaks : std::uint8_t {
    kKept,    // Kept inside quotes, for other programs (RFC 4180).
    kBlanks,  // Replaced by blanks, because csv.h reads one row per line.
  };
  explicit CsvRow(LineBreaks breaks = LineBreaks::kKept) : breaks_(breaks) {}

  // Adds a text field. It is quoted if a reader would otherwise split it, trim it or skip it as a
  // comment.
  void text(std::string_view value) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    const bool plain = value.find_first_of(",\"\r\n") == std::string_view::npos &&
                       (value.empty() || (!is_blank(value.front()) && !is_blank(value.back()) &&
                                          value.front() != '#'));
    if (plain) {
      line_.append(value).push_back(',');
      return;
    }
    line_ += '"';
    for (const char c : value) {
      if (c == '"') line_ += '"';
      const bool blanked = breaks_ == LineBreaks::kBlanks && (c == '\n' || c == '\r');
      line_ += blanked ? ' ' : c;
    }
    line_ += "\",";
  }
  void count(std::int64_t value) {
    append_int(line_, value);
    line_ += ',';
  }
  void millionths(std::int64_t value) {
    append_millionths(line_, value);
    line_ += ',';
  }
  // Adds a finite number with the fewest digits that read back as the same value.
  void real(double value) { fmt::format_to(std::back_inserter(line_), "{},", value); }
  // Adds an empty field.
  void nothing() { line_ += ','; }

  // Appends the row to `to` (an AtomicFile or a string) and begins the next one.
  // REQUIRES: the row has at least one field.
  template <class File>
  void write_to(File& to) {
    line_.back() = '\n';
    to.append(line_);
    line_.clear();
  }

 private:
  LineBreaks breaks_;
  std::string line_;
};

}  // namespace muster
