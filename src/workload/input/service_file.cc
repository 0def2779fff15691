#include "workload/input/service_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/file/csv_rows.h"
#include "base/file/text_file.h"
#include "base/text/numbers.h"
#include "base/text/text.h"
#include "base/types/time.h"

namespace muster {

namespace {

constexpr std::string_view kServiceColumns[] = {"duration"};

// Returns whether the first line is a header: it does not begin like a number.
bool is_header(std::string_view field) {
  return !field.empty() && std::string_view("0123456789.+-").find(field.front()) == field.npos;
}

// Errors describe the value; the caller adds file and line.
Result<std::int64_t> parse_sample(std::string_view field) {
  if (const auto plain = plain_seconds(field); plain && plain->us() > 0) return plain->us();
  const Result<Duration> seconds = parse_seconds(field);
  if (!seconds.ok()) return Error{"duration: " + seconds.error().message};
  if (seconds.value().us() == 0) {
    return Error{"duration: must be above 0: " + in_quotes(field)};
  }
  return seconds.value().us();
}

}  // namespace

Result<ServiceDistribution> parse_service_samples(std::string_view text, const std::string& name) {
  std::vector<std::int64_t> samples;
  CsvRows rows(text, name, CsvRows::Comments::kHash);
  bool first = true;
  while (rows.next()) {
    if (const MaybeError refusal = rows.split()) return *refusal;
    if (rows.fields().size() != 1) {
      return rows.fail(fmt::format("columns: {} instead of 1: {}", rows.fields().size(),
                                   in_quotes(rows.line())));
    }
    const std::string_view field = rows.fields().front();
    if (std::exchange(first, false) && is_header(field)) {
      if (field == kServiceColumns[0]) continue;
      return rows.fail("header: unknown column: " + in_quotes(field) +
                       suggestion(field, kServiceColumns));
    }
    const Result<std::int64_t> sample = parse_sample(field);
    if (!sample.ok()) return rows.fail(sample.error().message);
    if (samples.size() == kMaxServiceLines) {
      return rows.fail(fmt::format("too many samples; the maximum is {}", kMaxServiceLines));
    }
    samples.push_back(sample.value());
  }
  if (samples.empty()) return Error{name + ": no service samples"};
  return ServiceDistribution(std::move(samples));
}

Result<ServiceDistribution> read_service_samples(const std::string& path) {
  return read_and_parse(path, parse_service_samples);
}

}  // namespace muster
