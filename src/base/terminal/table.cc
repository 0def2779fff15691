#include "base/terminal/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/text/wording.h"
#include "base/types/check.h"
#include "base/types/enum_names.h"

namespace muster {

namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kNormal = "\x1b[0m";

void trim_end(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

constexpr EnumNames<Tint, Tint::kDim> kTintCodes({"", "\x1b[32m", "\x1b[31m", "\x1b[33m", kDim});

}  // namespace

std::string cut_text(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  std::string out;
  std::size_t used = 1;  // The ellipsis.
  while (!text.empty()) {
    const std::string_view next = text.substr(0, first_utf8_char(text).bytes);
    used += display_width(next);
    if (used > width) break;
    out += next;
    text.remove_prefix(next.size());
  }
  return width == 0 ? "" : out + "…";
}

void Table::add_row(std::vector<std::string> cells) {
  MUSTER_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

void Table::tint(std::size_t column, Tint tint) {
  MUSTER_CHECK(!rows_.empty() && column < columns_.size());
  if (tint != Tint::kNone) tints_.push_back({rows_.size() - 1, column, tint});
}

std::vector<std::size_t> Table::widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.header));
  const std::size_t least = widths.back();
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::size_t before = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) before += widths[i] + kGap.size();
  if (width > 0 && before + widths.back() > width) {
    widths.back() = std::max(least, width - std::min(width, before));
  }
  return widths;
}

std::string Table::render(ColorMode colors, std::size_t width) const {
  const std::vector<std::size_t> wide = widths(width);
  const auto line = [&](auto&& cell, auto&& tint) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string content = cut_text(cell(i), wide[i]);
      const std::string pad(wide[i] - display_width(content), ' ');
      const std::string_view color = colors == ColorMode::kColor ? kTintCodes[tint(i)] : "";
      const std::string shown =
          color.empty() ? content : fmt::format("{}{}{}", color, content, kNormal);
      if (i > 0) text += kGap;
      text += columns_[i].align == Align::kRight ? pad + shown : shown + pad;
    }
    trim_end(text);
    return text + "\n";
  };
  const auto untinted = [](std::size_t) { return Tint::kNone; };
  std::string out = line([&](std::size_t i) { return columns_[i].header; }, untinted);
  if (colors == ColorMode::kColor) {
    out = fmt::format("{}{}{}\n", kDim, std::string_view(out).substr(0, out.size() - 1), kNormal);
  } else {
    out += line([&](std::size_t i) { return std::string(wide[i], '-'); }, untinted);
  }
  auto spot = tints_.begin();
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    std::vector<Tint> tints(columns_.size(), Tint::kNone);
    for (; spot != tints_.end() && spot->row == row; ++spot) tints[spot->column] = spot->tint;
    out +=
        line([&](std::size_t i) { return rows_[row][i]; }, [&](std::size_t i) { return tints[i]; });
  }
  return out;
}

}  // namespace muster
