#pragma once

// Reads a CSV file that Muster wrote, row by row, with access to cells by column name. Ignores
// other columns. Each error is one line: "file:line: column: what".

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/csv.h"
#include "base/text/name_table.h"
#include "base/types/result.h"
#include "base/types/time.h"
#include "workload/trace/trace.h"

namespace muster {

class NamedCsv {
 public:
  // `file` is used in messages. Column numbers are indices in `names`.
  // REQUIRES: the text and the names outlive this object.
  NamedCsv(std::string_view text, std::string file, std::span<const std::string_view> names)
      : lines_(text), file_(std::move(file)), names_(names) {}

  // Call it first. Returns an error if a column in `names` is missing.
  MaybeError read_header();
  // Calls read_row() for each row until it returns an error. Returns that error.
  template <class ReadRow>
  MaybeError for_each(ReadRow read_row) {
    while (true) {
      const Result<bool> more = next();
      if (!more.ok()) return more.error();
      if (!more.value()) return std::nullopt;
      if (MaybeError refusal = read_row()) return refusal;
    }
  }

  std::string_view cell(std::size_t column) const { return splitter_.fields()[places_[column]]; }
  Result<std::uint32_t> name(std::size_t column, NameTable& table) const;
  Result<std::int32_t> count(std::size_t column) const;  // 0 to 1e9.
  Result<Instant> time(std::size_t column) const;        // never() if the cell is empty.

  Error fail(std::string_view what) const;
  Error fail(std::size_t column, std::string_view what) const;

 private:
  Result<bool> next();  // Advances to the next row; returns false at the end.
  MaybeError split();

  LineReader lines_;
  std::string file_;
  std::span<const std::string_view> names_;
  FieldSplitter splitter_;
  std::size_t header_size_ = 0;
  std::vector<std::size_t> places_;
};

}  // namespace muster
