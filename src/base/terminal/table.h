#pragma once

// Aligned tables for a terminal. Every cell is made safe to print (see printable()); lines end
// without blanks; the text ends in a newline.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal/terminal.h"

namespace muster {

enum class Align { kLeft, kRight };

struct Column {
  std::string header;
  Align align = Align::kLeft;
};

// The text, or its beginning and "…" where it would take more than `width` columns.
std::string cut_text(std::string_view text, std::size_t width);

enum class Tint { kNone, kGreen, kRed, kYellow, kDim };

// Rows of text under headers, each column as wide as its widest cell. In plain ink the headers are
// underlined, in color they are dim.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add_row(std::vector<std::string> cells);
  std::size_t row_count() const { return rows_.size(); }
  // A cell of the last row, where there is color.
  void tint(std::size_t column, Tint tint);

  // The last column is cut so that no line is longer than `width`; 0: as long as it takes.
  std::string render(Ink ink = Ink::kPlain, std::size_t width = 0) const;

 private:
  struct Spot {
    std::size_t row = 0;
    std::size_t column = 0;
    Tint tint = Tint::kNone;
  };
  std::vector<std::size_t> widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<Spot> tints_;  // By row.
};

}  // namespace muster
