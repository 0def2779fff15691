#include "workload/trace/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file/csv.h"
#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

namespace {

bool is_listed(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add(Columns& columns, std::string_view name, Field field) {
  columns.names.emplace_back(name);
  columns.fields.push_back(field);
  if (field == Field::kUnused) columns.unused.push_back(in_quotes(name));
}

}  // namespace

std::optional<std::size_t> Columns::find(Field field) const {
  const auto at = std::find(fields.begin(), fields.end(), field);
  if (at == fields.end()) return std::nullopt;
  return static_cast<std::size_t>(at - fields.begin());
}

Error Columns::fail(std::size_t column, std::string_view what) const {
  return {fmt::format("{}: {}", names[column], what)};
}

Error Columns::fail(Field field, std::string_view what) const { return fail(*find(field), what); }

Result<Columns> map_header(const FormatSpec& format, const std::vector<std::string_view>& cells,
                           std::string_view line) {
  Columns columns;
  std::vector<std::string_view> known;
  for (const FormatColumn& column : format.columns) known.push_back(column.name);
  for (const std::string_view name : cells) {
    if (const char* fault = text_fault(name)) {
      return Error{fmt::format("header: {}: {}", fault, in_quotes(name))};
    }
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      if (format.is_ours) {
        return Error{
            fmt::format("header: unknown column: {}{}", in_quotes(name), suggestion(name, known))};
      }
      add(columns, name, Field::kUnused);
      continue;
    }
    if (is_listed(columns.names, name)) {
      return Error{fmt::format("{}: column named twice: {}", name, in_quotes(name))};
    }
    add(columns, name, format.columns[static_cast<std::size_t>(at - known.begin())].field);
  }
  for (const FormatColumn& column : format.columns) {
    if (column.need == Need::kOptional || is_listed(columns.names, column.name)) continue;
    return Error{
        fmt::format("{}: column missing from the header: {}", column.name, in_quotes(line))};
  }
  return columns;
}

Columns plain_columns(const FormatSpec& format) {
  Columns columns;
  for (const FormatColumn& column : format.columns) add(columns, column.name, column.field);
  return columns;
}

}  // namespace muster
