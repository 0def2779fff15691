#include "base/file/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file/csv.h"
#include "base/text/text.h"

namespace muster {

bool CsvRows::next() {
  while (lines_.next()) {
    if (comments_ == Comments::kHash && line().starts_with('#')) continue;
    if (!trim(line()).empty()) return true;
  }
  return false;
}

MaybeError CsvRows::split() {
  if (line().size() > kLongestLine) {
    return fail(fmt::format("line longer than {} bytes: {}", kLongestLine, in_quotes(line())));
  }
  if (const MaybeError refusal = splitter_.split(line())) return fail(refusal->message);
  return std::nullopt;
}

MaybeError CsvRows::check_width(std::size_t width) const {
  if (fields().size() == width) return std::nullopt;
  return fail(fmt::format("columns: {} where the header has {}: {}", fields().size(), width,
                          in_quotes(line())));
}

MaybeError CsvRows::set_whole(std::string_view column, std::string_view field, std::int64_t max,
                              std::int64_t& out) const {
  const Result<std::int64_t> number = parse_int(field);
  if (!number.ok()) return fail(fmt::format("{}: {}", column, number.error().message));
  if (number.value() < 0 || number.value() > max) {
    return fail(fmt::format("{}: not between 0 and {}: {}", column, max, in_quotes(field)));
  }
  out = number.value();
  return std::nullopt;
}

Error CsvRows::fail(std::string_view what) const {
  return fail_at(std::max<std::int64_t>(number(), 1), what);
}

Error CsvRows::fail_at(std::int64_t line, std::string_view what) const {
  return {fmt::format("{}:{}: {}", file_, line, what)};
}

}  // namespace muster
