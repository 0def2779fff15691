#pragma once

// Formats aligned tables for a terminal. All cells are made safe to print (see printable()). Lines
// have no trailing blanks, and the text ends with a newline.

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

// Returns the text, cut with "…" at the end if it has more than `width` columns.
std::string cut_text(std::string_view text, std::size_t width);

enum class Tint { kNone, kGreen, kRed, kYellow, kDim };

// A table with headers. Each column is as wide as its widest cell. Without color the headers are
// underlined; with color they are dim.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column.
  void add_row(std::vector<std::string> cells);
  std::size_t row_count() const { return rows_.size(); }
  // Sets the color of a cell of the last row. Has no effect in plain mode.
  void tint(std::size_t column, Tint tint);

  // Returns the table as text. Cuts the last column so that no line is longer than `width` columns;
  // 0 means no limit.
  std::string render(ColorMode colors = ColorMode::kPlain, std::size_t width = 0) const;

 private:
  struct Spot {
    std::size_t row = 0;
    std::size_t column = 0;
    Tint tint = Tint::kNone;
  };
  std::vector<std::size_t> widths(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<Spot> tints_;  // Sorted by row.
};

}  // namespace muster
