#pragma once

// For the tests of pages: functions that find a section, a table or a cell of a page, and
// expect_sound(), which checks what every page must fulfill.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "study/page/page.h"

namespace muster {

inline const Section& section_of(const Page& page, std::string_view key) {
  for (const Section& section : page.sections) {
    if (section.key == key) return section;
  }
  ADD_FAILURE() << "no section " << key;
  return page.sections.front();
}

inline const PageTable& table_of(const Page& page, std::string_view key) {
  for (const Section& section : page.sections) {
    for (const PageTable& table : section.tables) {
      if (table.key == key) return table;
    }
  }
  ADD_FAILURE() << "no table " << key;
  static const PageTable kNone;
  return kNone;
}

inline Cell cell_of(const Page& page, std::string_view key, std::string_view row,
                    std::string_view column) {
  const PageTable& table = table_of(page, key);
  const auto at = std::find(table.columns.begin(), table.columns.end(), column);
  EXPECT_NE(at, table.columns.end()) << key << ": no column " << column;
  for (const std::vector<Cell>& cells : table.rows) {
    if (at == table.columns.end() || std::get<std::string>(cells[0]) != row) continue;
    return cells[static_cast<std::size_t>(at - table.columns.begin())];
  }
  ADD_FAILURE() << key << ": no row " << row;
  return {};
}

// -1 for an empty cell.
inline double value_of(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<Number>(&cell)) return number->value;
  return -1;
}

inline double value_at(const Page& page, std::string_view key, std::string_view row,
                       std::string_view column) {
  return value_of(cell_of(page, key, row, column));
}

// Checks the properties that all page writers rely on.
inline void expect_sound(const Page& page) {
  EXPECT_EQ(page.sections.size(), 13u);
  std::set<std::string> keys;
  for (const Section& section : page.sections) {
    EXPECT_FALSE(section.findings.empty() && section.missing.empty()) << section.key;
    std::string words = section.missing;
    for (const std::string& finding : section.findings) words += " " + finding;
    EXPECT_FALSE(std::regex_search(words, std::regex("\\b(nan|inf)\\b"))) << section.key << words;
    for (const PageTable& table : section.tables) {
      EXPECT_TRUE(keys.insert(table.key).second) << table.key;
      for (const std::vector<Cell>& row : table.rows) {
        EXPECT_EQ(row.size(), table.columns.size()) << table.key;
        for (const Cell& cell : row) EXPECT_TRUE(std::isfinite(value_of(cell))) << table.key;
      }
    }
    for (const Plot& plot : section.plots) {
      EXPECT_TRUE(keys.insert(plot.key).second) << plot.key;
      const bool bars = plot.kind == Plot::Kind::kBars;
      for (const Series& series : plot.series) {
        EXPECT_EQ(series.y.size(), bars ? plot.categories.size() : series.x.size()) << plot.key;
        EXPECT_LE(series.y.size(), 1000u) << plot.key;
        EXPECT_TRUE(std::is_sorted(series.x.begin(), series.x.end())) << plot.key;
        for (const double y : series.y) EXPECT_TRUE(std::isfinite(y)) << plot.key;
      }
    }
  }
}

}  // namespace muster
