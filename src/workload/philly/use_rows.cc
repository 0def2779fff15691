#include "workload/philly/use_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/file/csv.h"
#include "base/file/digits.h"
#include "base/text/text.h"
#include "workload/philly/pacific_time.h"

namespace muster {

namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr double kTooLarge = 1e12;  // A petabyte of memory, in kB.

// Parses "12", "12.5" or "99.366666667" in millionths, truncated after the sixth decimal, and moves
// `at` after the number. Returns kMissing for other text and for more than 12 digits before the
// point. Reads up to 8 bytes after the number.
std::int64_t plain_number(const char*& at) {
  const EightDigits whole(at);
  if (whole.count() == 0) return UseRows::kMissing;
  std::uint64_t value = whole.whole();
  at += whole.count();
  if (whole.count() == 8) [[unlikely]] {
    constexpr std::uint64_t kPowers[] = {1, 10, 100, 1000, 10'000};
    const EightDigits rest(at);
    if (rest.count() > 4) return UseRows::kMissing;
    if (rest.count() > 0) value = value * kPowers[rest.count()] + rest.whole();
    at += rest.count();
  }
  value *= kMillion;
  if (*at != '.') return static_cast<std::int64_t>(value);
  const EightDigits decimals(++at);
  value += decimals.padded() / 100;
  at += decimals.count();
  while (decimals.count() == 8 && *at >= '0' && *at <= '9') ++at;
  return static_cast<std::int64_t>(value);
}

}  // namespace

UseRows::UseRows(ByteSource source) : lines_(std::move(source)) {}

Result<std::vector<std::string>> UseRows::read_header() {
  const Result<bool> there = lines_.next();
  if (!there.ok()) return there.error();
  if (!there.value()) return fail("the file is empty");
  FieldSplitter splitter;
  if (const MaybeError refusal = splitter.split(lines_.line())) return fail(refusal->message);
  const std::vector<std::string_view>& names = splitter.fields();
  const bool known = names.size() > 2 && names[0] == "time" &&
                     (names[1] == "machineId" || names[1] == "machine_id");
  if (!known) return fail("header: not a Philly utilization file: " + in_quotes(lines_.line()));
  columns_.assign(names.begin() + 2, names.end());
  if (columns_.back().empty()) columns_.pop_back();
  values_.resize(columns_.size());
  return columns_;
}

MaybeError UseRows::read_time(std::string_view text) {
  const std::optional<Instant> time = parse_zoned_time(text);
  if (!time) {
    return fail("time: not a time such as 2017-10-03 00:08:00 PDT: " + in_quotes(text));
  }
  minute_ = static_cast<Minute>(time->us() / 60'000'000);
  time_text_ = text;
  return std::nullopt;
}

// Handles what plain_number() cannot parse: an empty cell, another notation, or an invalid number.
MaybeError UseRows::read_odd_value(std::string_view text, std::size_t column) {
  text = trim(text);
  values_[column] = kMissing;
  if (text.empty() || text == "NA") return std::nullopt;
  const Result<double> number = parse_number(text);
  if (!number.ok()) {
    return fail(fmt::format("{}: {}", columns_[column], number.error().message));
  }
  const bool sane = number.value() >= 0 && number.value() < kTooLarge;
  values_[column] = sane ? std::llround(number.value() * 1e6) : kBeyond;
  return std::nullopt;
}

MaybeError UseRows::read_values(const char* at, const char* end) {
  for (std::size_t column = 0; column < values_.size(); ++column) {
    if (at > end) {
      return fail(fmt::format("columns: {} instead of {}: {}", column + 2, values_.size() + 2,
                              in_quotes(lines_.line())));
    }
    const char* const begin = at;
    if (end - at >= 3 && at[0] == 'N' && at[1] == 'A' && at[2] == ',') {  // Half of the values.
      values_[column] = kMissing;
      at += 3;
      continue;
    }
    const std::int64_t value = plain_number(at);
    if (value != kMissing && (at == end || (at < end && *at == ','))) {
      values_[column] = value;
    } else {
      at = std::find(begin, end, ',');
      const std::string_view text(begin, static_cast<std::size_t>(at - begin));
      if (MaybeError refusal = read_odd_value(text, column)) return refusal;
    }
    ++at;  // The comma, or past the end.
  }
  if (at < end) return fail("columns: more than in the header: " + in_quotes(lines_.line()));
  return std::nullopt;
}

Result<bool> UseRows::next() {
  do {
    const Result<bool> there = lines_.next();
    if (!there.ok()) return there.error();
    if (!there.value()) return false;
  } while (lines_.line().empty());
  const std::string_view line = lines_.line();
  std::size_t time_end = time_text_.size();
  const bool same_time = line.starts_with(time_text_) && line.substr(time_end).starts_with(',');
  if (!same_time) {
    time_end = std::min(line.find(','), line.size());
    if (const MaybeError refusal = read_time(line.substr(0, time_end))) return *refusal;
  }
  const std::size_t node_end = std::min(line.find(',', time_end + 1), line.size());
  if (time_end == line.size() || node_end == line.size()) {
    return fail("columns: too few: " + in_quotes(line));
  }
  node_ = trim(line.substr(time_end + 1, node_end - time_end - 1));
  if (node_.empty()) return fail("machineId: empty: ''");
  const char* const end = line.data() + line.size();
  if (const MaybeError refusal = read_values(line.data() + node_end + 1, end)) return *refusal;
  return true;
}

}  // namespace muster
