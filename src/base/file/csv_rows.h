#pragma once

// Iterates over the rows of a small CSV file: skips blank lines, splits a line into fields, and
// adds file and line to errors. The parsers of node lists, throughputs, layers, pairs and service
// times use it. The text must outlive it.

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
    kHash  // Lines that begin with # are skipped.
  };

  CsvRows(std::string_view text, std::string file, Comments comments)
      : lines_(text), file_(std::move(file)), comments_(comments) {}

  bool next();  // Moves to the next line that is not blank; false at the end.
  // Splits the current line into fields. Fails for a line longer than kLongestLine and for wrong
  // quotes.
  MaybeError split();

  // Calls header() for the current line and row() for each later line, after splitting the line.
  // Stops at the first error and returns it.
  template <class Header, class Row>
  MaybeError read(Header header, Row row) {
    if (MaybeError refusal = split()) return refusal;
    if (MaybeError refusal = header()) return refusal;
    while (next()) {
      if (MaybeError refusal = split()) return refusal;
      if (MaybeError refusal = row()) return refusal;
    }
    return std::nullopt;
  }

  // Fails unless the current line has `width` fields, the number in the header.
  MaybeError check_width(std::size_t width) const;
  // Parses `field` as a whole number from 0 to `max` into `out`. Errors name `column`.
  MaybeError set_whole(std::string_view column, std::string_view field, std::int64_t max,
                       std::int64_t& out) const;

  // Return the error "file:line: what", for the current line or for `line`.
  Error fail(std::string_view what) const;
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
