#include "workload/trace/format.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text/text.h"

namespace muster {

namespace {

using Cells = std::vector<std::string_view>;

// Returns whether a line fits a format without a header: the number of cells matches, and number
// columns contain numbers.
bool looks_like_row(const FormatSpec& format, const Cells& cells) {
  if (cells.size() != format.columns.size()) return false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Field field = format.columns[i].field;
    if (kind_of(field) != FieldKind::kNumber || field == Field::kState) continue;
    const bool may_lack = format.rows == Rows::kUsable && cells[i].empty();
    if (!may_lack && !parse_number(cells[i]).ok()) return false;
  }
  return true;
}

std::ptrdiff_t columns_named(const FormatSpec& format, const Cells& cells) {
  return std::count_if(format.columns.begin(), format.columns.end(),
                       [&](const FormatColumn& column) {
                         return std::find(cells.begin(), cells.end(), column.name) != cells.end();
                       });
}

std::size_t apart(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

}  // namespace

FieldKind kind_of(Field field) {
  switch (field) {
    case Field::kIgnored:
    case Field::kUnused:
      return FieldKind::kNone;
    case Field::kId:
    case Field::kModel:
    case Field::kUser:
    case Field::kTenant:
    case Field::kName:
    case Field::kGpuType:
    case Field::kGpuChoice:
      return FieldKind::kText;
    default:
      return FieldKind::kNumber;
  }
}

const FormatSpec* find_format(std::string_view name) {
  for (const FormatSpec& spec : format_specs()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const FormatSpec* detect_format(std::string_view first_line, std::string_view name) {
  const FormatSpec* best = nullptr;        // The best format with a header.
  const FormatSpec* most_alike = nullptr;  // The closest format without a header.
  std::ptrdiff_t best_count = 1;           // One matching column name is not enough.
  std::size_t least_apart = 0;
  FieldSplitter splitter;
  for (const FormatSpec& spec : format_specs()) {
    if (!name.empty() && spec.name != name) continue;
    if (splitter.split(first_line, spec.separator)) continue;  // Invalid quotes.
    const Cells& cells = splitter.fields();
    if (!spec.has_header) {
      if (looks_like_row(spec, cells)) return &spec;
      const std::size_t difference = apart(cells.size(), spec.columns.size());
      if (most_alike != nullptr && difference >= least_apart) continue;
      most_alike = &spec;
      least_apart = difference;
    } else if (const std::ptrdiff_t count = columns_named(spec, cells); count > best_count) {
      best_count = count;
      best = &spec;
    }
  }
  if (best != nullptr || name.empty()) return best;
  return most_alike != nullptr ? most_alike : find_format(name);
}

}  // namespace muster
