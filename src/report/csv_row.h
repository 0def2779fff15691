#pragma once

// One line of a CSV file, field by field. Text is quoted when a reader would otherwise take it
// apart or trim it (RFC 4180).

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "report/atomic_file.h"
#include "report/wording.h"

namespace muster {

class CsvRow {
 public:
  void text(std::string_view value) {
    const bool blank_end = !value.empty() && (value.front() == ' ' || value.back() == ' ');
    const bool plain = !blank_end && value.find_first_of(",\"\r\n") == std::string_view::npos;
    if (!plain) line_ += '"';
    for (const char c : value) {
      if (c == '"') line_ += '"';
      line_ += c;
    }
    line_ += plain ? "," : "\",";
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

  // Ends the row, which must have a field, and begins the next.
  void write_to(AtomicFile& file) {
    line_.back() = '\n';
    file.append(line_);
    line_.clear();
  }

 private:
  std::string line_;
};

}  // namespace muster
