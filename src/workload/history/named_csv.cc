#include "workload/history/named_csv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/numbers.h"
#include "base/text/text.h"
#include "base/text/utf8.h"

namespace muster {

namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000;

}  // namespace

Error NamedCsv::fail(std::string_view what) const {
  return {fmt::format("{}:{}: {}", file_, std::max<std::int64_t>(lines_.number(), 1), what)};
}

Error NamedCsv::fail(std::size_t column, std::string_view what) const {
  return fail(fmt::format("{}: {}", names_[column], what));
}

MaybeError NamedCsv::split() {
  if (const MaybeError refusal = splitter_.split(lines_.line())) return fail(refusal->message);
  return std::nullopt;
}

MaybeError NamedCsv::read_header() {
  if (!lines_.next()) return fail("the file is empty");
  if (MaybeError refusal = split()) return refusal;
  const std::vector<std::string_view>& found = splitter_.fields();
  header_size_ = found.size();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto at = std::find(found.begin(), found.end(), names_[i]);
    if (at == found.end()) {
      return fail(i, "column missing from the header: " + in_quotes(lines_.line()));
    }
    places_.push_back(static_cast<std::size_t>(at - found.begin()));
  }
  return std::nullopt;
}

Result<bool> NamedCsv::next() {
  if (!lines_.next()) return false;
  if (const MaybeError refusal = split()) return *refusal;
  if (splitter_.fields().size() == header_size_) return true;
  return fail(fmt::format("columns: {} where the header has {}: {}", splitter_.fields().size(),
                          header_size_, in_quotes(lines_.line())));
}

Result<std::uint32_t> NamedCsv::name(std::size_t column, NameTable& table) const {
  if (const char* fault = text_fault(cell(column))) {
    return fail(column, fmt::format("{}: {}", fault, in_quotes(cell(column))));
  }
  return table.intern(cell(column));
}

Result<std::int32_t> NamedCsv::count(std::size_t column) const {
  const Result<std::int64_t> count = parse_int(cell(column));
  if (!count.ok()) return fail(column, count.error().message);
  if (count.value() < 0 || count.value() > kMaxCount) {
    return fail(column,
                fmt::format("not between 0 and {}: {}", kMaxCount, in_quotes(cell(column))));
  }
  return static_cast<std::int32_t>(count.value());
}

Result<Instant> NamedCsv::time(std::size_t column) const {
  if (cell(column).empty()) return Instant::never();
  if (const std::optional<Duration> plain = plain_seconds(cell(column))) return Instant::at(*plain);
  const Result<Duration> seconds = parse_seconds(cell(column));
  if (!seconds.ok()) return fail(column, seconds.error().message);
  return Instant::at(seconds.value());
}

}  // namespace muster
