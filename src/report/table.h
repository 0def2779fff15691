#pragma once

// Runs for people: aligned tables, and a run or several in words. Every cell is made safe to print
// (see printable()); lines end without blanks; the text ends in a newline.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/summary.h"
#include "report/terminal.h"

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

// One line a run. What the runs do not all share (placement, estimates, trace...) gets a column.
// The last column is the gain in mean JCT over the first run of the same policy, or of any if none
// has two runs, on the same trace, cluster and seed: 2.00x means that jobs took half as long; that
// first run itself shows a dash.
std::string comparison_table(std::span<const RunRow> rows, Ink ink = Ink::kPlain);
// Whether there are no two runs of one policy, so that its gains are over other policies.
bool compares_policies(std::span<const RunRow> rows);

// What failed, why, and what it cost.
std::string failure_table(const FailureLedger& ledger, Ink ink = Ink::kPlain);

// Why jobs of each size waited.
std::string waiting_table(const WaitingSummary& waiting, Ink ink = Ink::kPlain);

// One run, a line a fact.
std::string summary_text(const Summary& summary, const RunLabel& label);

}  // namespace muster
