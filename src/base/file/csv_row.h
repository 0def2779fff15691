#pragma once

// One line of a CSV file, field by field: all CSV that Muster writes goes through here. csv.h reads
// it back.

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
    kKept,    // In quotes, for other programs (RFC 4180).
    kBlanks,  // As blanks: csv.h, which reads traces, wants a row per line.
  };
  explicit CsvRow(LineBreaks breaks = LineBreaks::kKept) : breaks_(breaks) {}

  // In quotes where a reader would otherwise take it apart, trim it or skip it as a comment.
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
  // A finite number, in as few digits as give it back.
  void real(double value) { fmt::format_to(std::back_inserter(line_), "{},", value); }
  void nothing() { line_ += ','; }

  // Ends the row, which must have a field, and begins the next. `to`: an AtomicFile or a string.
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
