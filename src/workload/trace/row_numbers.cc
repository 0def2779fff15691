#include "workload/trace/row_numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/text/dates.h"
#include "base/text/numbers.h"
#include "base/text/text.h"

namespace muster {

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace

NumberReader::NumberReader(const FormatSpec& format, const Columns& columns)
    : format_(format), columns_(columns) {
  for (std::size_t i = 0; i < columns.fields.size(); ++i) {
    if (kind_of(columns.fields[i]) == FieldKind::kNumber) places_.push_back(i);
  }
}

bool NumberReader::may_lack(Field field) const {
  switch (field) {
    case Field::kSubmit:
      return false;
    case Field::kIterations:
      return format_.timing == Timing::kGiven || format_.timing == Timing::kClock;
    case Field::kStart:
    case Field::kEnd:
    case Field::kDuration:
    case Field::kGpus:
    case Field::kGpusHeld:
    case Field::kGpuParts:
    case Field::kGpuPercent:
      return format_.rows == Rows::kUsable;
    default:
      return true;
  }
}

MaybeError NumberReader::read(const std::vector<std::string_view>& cells, RowNumbers& row) {
  for (const std::size_t column : places_) {
    const bool missing = cells[column].empty() || stands_for_nothing(format_, cells[column]);
    if (missing && may_lack(columns_.fields[column])) continue;
    if (MaybeError refusal = read_cell(column, cells[column], row)) return refusal;
  }
  return std::nullopt;
}

template <class Out>
MaybeError NumberReader::set_seconds(std::size_t column, std::string_view text, Out& out) const {
  if (const std::optional<Duration> plain = plain_seconds(text)) {
    out = *plain;
    return std::nullopt;
  }
  const Result<Duration> duration = parse_seconds(text);
  if (!duration.ok()) return columns_.fail(column, duration.error().message);
  out = duration.value();
  return std::nullopt;
}

template <class Out>
MaybeError NumberReader::set_count(std::size_t column, std::string_view text, std::int64_t most,
                                   Out& out) const {
  const std::optional<std::int64_t> number = whole_number(text);
  if (!number) return columns_.fail(column, parse_int(text).error().message);
  if (*number < 0) return columns_.fail(column, "negative: " + in_quotes(text));
  if (*number > most) {
    return columns_.fail(column, fmt::format("must be at most {}: {}", most, in_quotes(text)));
  }
  out = *number;
  return std::nullopt;
}

MaybeError NumberReader::read_cell(std::size_t column, std::string_view text, RowNumbers& row) {
  switch (columns_.fields[column]) {
    case Field::kSubmit:
      return set_time(column, text, row.submit);
    case Field::kStart:
      return set_time(column, text, row.start);
    case Field::kEnd:
      return set_time(column, text, row.end);
    case Field::kDuration:
      return set_seconds(column, text, row.duration);
    case Field::kEstimate:
      return set_seconds(column, text, row.estimate);
    case Field::kGpus:
      return set_count(column, text, kMaxJobGpus, row.gpus);
    case Field::kGpusHeld:
      return set_count(column, text, kMaxJobGpus, row.gpus_held);
    case Field::kGpuParts:
      return set_parts(column, text, 1, row);
    case Field::kGpuPercent:
      return set_parts(column, text, 100, row);
    case Field::kGpuMilli:
      return set_count(column, text, 1000, row.gpu_milli);
    case Field::kInstances:
      return set_instances(column, text, row);
    case Field::kMin:
      return set_count(column, text, kMaxJobGpus, row.fewest);
    case Field::kMax:
      return set_count(column, text, kMaxJobGpus, row.most);
    case Field::kIterations:
      return set_count(column, text, kNoLimit, row.iterations);
    case Field::kBatch:
      return set_count(column, text, kNoLimit, row.batch);
    case Field::kState:
      return set_state(column, text, row);
    default:
      return std::nullopt;
  }
}

MaybeError NumberReader::set_time(std::size_t column, std::string_view text,
                                  std::optional<Duration>& out) {
  if (!format_.has_dates) return set_seconds(column, text, out);
  const Result<Date> date = parse_date(text);
  if (!date.ok()) return columns_.fail(column, date.error().message);
  if (!dates_have_zone_) dates_have_zone_ = date.value().has_zone;
  if (date.value().has_zone != *dates_have_zone_) {
    return columns_.fail(column,
                         fmt::format("{} a time zone, unlike the dates above: {}",
                                     *dates_have_zone_ ? "without" : "with", in_quotes(text)));
  }
  out = Duration::seconds(date.value().seconds);
  return std::nullopt;
}

MaybeError NumberReader::set_parts(std::size_t column, std::string_view text, double unit,
                                   RowNumbers& row) const {
  const Result<double> number = parse_number(text);
  if (!number.ok()) return columns_.fail(column, number.error().message);
  if (number.value() < 0) return columns_.fail(column, "negative: " + in_quotes(text));
  row.gpu_parts = number.value() / unit;
  return std::nullopt;
}

// The files come from pandas, which writes "2.0" instead of "2" if another row has no value.
MaybeError NumberReader::set_instances(std::size_t column, std::string_view text,
                                       RowNumbers& row) const {
  const Result<double> number = parse_number(text);
  if (!number.ok()) return columns_.fail(column, number.error().message);
  if (number.value() < 0) return columns_.fail(column, "negative: " + in_quotes(text));
  if (number.value() != std::floor(number.value())) {
    return columns_.fail(column, "not a whole number: " + in_quotes(text));
  }
  if (number.value() > static_cast<double>(kMaxJobGpus)) {
    return columns_.fail(column,
                         fmt::format("must be at most {}: {}", kMaxJobGpus, in_quotes(text)));
  }
  row.instances = static_cast<std::int64_t>(number.value());
  return std::nullopt;
}

MaybeError NumberReader::set_state(std::size_t column, std::string_view text,
                                   RowNumbers& row) const {
  for (std::size_t i = 0; i < format_.states.size(); ++i) {
    if (format_.states[i].word != text) continue;
    row.state = i;
    return std::nullopt;
  }
  std::vector<std::string_view> words;
  for (const StateWord& state : format_.states) words.push_back(state.word);
  return columns_.fail(
      column, fmt::format("unknown: {}; one of: {}", in_quotes(text), fmt::join(words, ", ")));
}

}  // namespace muster
