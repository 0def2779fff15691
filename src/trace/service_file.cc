#include "trace/service_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "trace/csv.h"
#include "trace/reader.h"
#include "trace/text_file.h"
#include "trace/values.h"

namespace muster {

namespace {

constexpr std::string_view kColumns[] = {"duration"};

// Whether the first line is a header: it is, unless it begins like a number.
bool is_header(std::string_view field) {
  return !field.empty() && std::string_view("0123456789.+-").find(field.front()) == field.npos;
}

// The errors say what is wrong, not where.
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
  LineReader lines(text);
  FieldSplitter splitter;
  const auto fail = [&](std::string_view what) {
    return Error{fmt::format("{}:{}: {}", name, lines.number(), what)};
  };
  bool first = true;
  while (lines.next()) {
    const std::string_view line = lines.line();
    if (line.starts_with('#') || trim(line).empty()) continue;
    if (line.size() > kLongestLine) {
      return fail(fmt::format("line longer than {} bytes: {}", kLongestLine, in_quotes(line)));
    }
    if (const Refusal refusal = splitter.split(line)) return fail(refusal->message);
    if (splitter.fields().size() != 1) {
      return fail(fmt::format("columns: {} where there should be one: {}", splitter.fields().size(),
                              in_quotes(line)));
    }
    const std::string_view field = splitter.fields().front();
    if (std::exchange(first, false) && is_header(field)) {
      if (field == kColumns[0]) continue;
      return fail("header: unknown column: " + in_quotes(field) + suggestion(field, kColumns));
    }
    const Result<std::int64_t> sample = parse_sample(field);
    if (!sample.ok()) return fail(sample.error().message);
    if (samples.size() == kMostServiceLines) {
      return fail(fmt::format("more than {} samples, the most we read", kMostServiceLines));
    }
    samples.push_back(sample.value());
  }
  if (samples.empty()) return Error{name + ": no samples of service"};
  return ServiceDistribution(std::move(samples));
}

Result<ServiceDistribution> read_service_samples(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  return parse_service_samples(text.value(), path);
}

}  // namespace muster
