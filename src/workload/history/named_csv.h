#pragma once

// A CSV file that Muster itself wrote, row by row, with cells asked for by the column's name. For
// readers that want certain columns and leave others alone. Every refusal is one line,
// "file:line: column: what".

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
  // The text and the names must outlive it; `file` is for messages. Columns are numbered as in
  // `names`.
  NamedCsv(std::string_view text, std::string file, std::span<const std::string_view> names)
      : lines_(text), file_(std::move(file)), names_(names) {}

  // Before all else. Wants every name; other columns may be there.
  Refusal read_header();
  // Goes from row to row and calls read_row(), a Refusal, at each; up to the first refusal.
  template <class ReadRow>
  Refusal for_each(ReadRow read_row) {
    while (true) {
      const Result<bool> more = next();
      if (!more.ok()) return more.error();
      if (!more.value()) return std::nullopt;
      if (Refusal refusal = read_row()) return refusal;
    }
  }

  std::string_view cell(std::size_t column) const { return splitter_.fields()[places_[column]]; }
  Result<std::uint32_t> name(std::size_t column, NameTable& table) const;
  Result<std::int32_t> count(std::size_t column) const;  // 0 to 1e9.
  Result<Instant> time(std::size_t column) const;        // never() where it is empty.

  Error fail(std::string_view what) const;
  Error fail(std::size_t column, std::string_view what) const;

 private:
  Result<bool> next();  // Goes to the next row; false at the end.
  Refusal split();

  LineReader lines_;
  std::string file_;
  std::span<const std::string_view> names_;
  FieldSplitter splitter_;
  std::size_t header_size_ = 0;
  std::vector<std::size_t> places_;
};

}  // namespace muster
