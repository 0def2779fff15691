#pragma once

// The lines of a small CSV file, for the parsers of node lists, throughputs, layers, pairs and
// service times: finds the next line that has content, cuts it into fields, and puts the file and
// the line in front of errors. The text must outlive it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/csv.h"
#include "base/file/text_file.h"
#include "base/types/result.h"

namespace muster {

class CsvRows {
 public:
  enum class Comments : std::uint8_t {
    kNone,
    kHash
  };  // kHash: lines that begin with # are skipped.

  CsvRows(std::string_view text, std::string file, Comments comments)
      : lines_(text), file_(std::move(file)), comments_(comments) {}

  bool next();  // Goes to the next line that is not blank; false at the end.
  // Cuts the current line into fields. Refuses lines above kLongestLine and quotes left open.
  Refusal split();

  // Calls header() on the current line and row() on each line after it, each time when the line is
  // split. Stops at the first refusal and returns it.
  template <class Header, class Row>
  Refusal read(Header header, Row row) {
    if (Refusal refusal = split()) return refusal;
    if (Refusal refusal = header()) return refusal;
    while (next()) {
      if (Refusal refusal = split()) return refusal;
      if (Refusal refusal = row()) return refusal;
    }
    return std::nullopt;
  }

  Refusal check_width(std::size_t width) const;  // The line must have as many fields as the header.
  // Sets `out` to the whole number from 0 to `max` in a field of this column.
  Refusal set_whole(std::string_view column, std::string_view field, std::int64_t max,
                    std::int64_t& out) const;

  Error fail(std::string_view what) const;  // "file:line: what".
  Error fail_at(std::int64_t line, std::string_view what) const;

  const std::vector<std::string_view>& fields() const { return splitter_.fields(); }
  std::string_view line() const { return lines_.line(); }
  std::int64_t number() const { return lines_.number(); }
  const std::string& file() const { return file_; }

 private:
  LineReader lines_;
  FieldSplitter splitter_;
  std::string file_;
  Comments comments_;
};

// Reads the whole file and parses it with parse(text, path).
template <class Parse>
auto read_and_parse(const std::string& path, Parse parse)
    -> decltype(parse(std::string_view(), path)) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse(text.value(), path);
}

}  // namespace muster
