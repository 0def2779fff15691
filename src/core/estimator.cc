#include "core/estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster {

namespace {
constexpr std::size_t kRemembered = 31;  // Run times a group; odd, so the median is one of them.
constexpr int kLevels = 4;
}  // namespace

std::string EstimateSource::text() const {
  switch (kind) {
    case Kind::kOracle:
      return "oracle";
    case Kind::kNoisy:
      return fmt::format("noisy:{}", sigma);
    case Kind::kUser:
      return "user";
    case Kind::kHistory:
      return "history";
    case Kind::kProgress:
      return "progress";
  }
  return "";
}

Result<EstimateSource> parse_estimate_source(std::string_view text) {
  using Kind = EstimateSource::Kind;
  if (text == "oracle") return EstimateSource{Kind::kOracle, 0};
  if (text == "user") return EstimateSource{Kind::kUser, 0};
  if (text == "history") return EstimateSource{Kind::kHistory, 0};
  if (text == "progress") return EstimateSource{Kind::kProgress, 0};
  if (text.starts_with("noisy:")) {
    const Result<double> sigma = parse_number(text.substr(6));
    if (!sigma.ok()) return Error{"--estimates noisy: " + sigma.error().message};
    if (sigma.value() < 0 || sigma.value() > 10) {
      return Error{"--estimates noisy: sigma is not between 0 and 10: " +
                   in_quotes(text.substr(6))};
    }
    return EstimateSource{Kind::kNoisy, sigma.value()};
  }
  constexpr std::array<std::string_view, 5> kNames = {"oracle", "noisy:SIGMA", "user", "history",
                                                      "progress"};
  return Error{"--estimates: unknown source " + in_quotes(text) + suggestion(text, kNames)};
}

Estimator::Key Estimator::key_at(const JobSpec& spec, int level) {
  const std::int64_t user = level <= 1 ? spec.user.index() : -1;
  const std::int64_t name = level <= 0 ? spec.name.index() : -1;
  const std::int64_t size = level <= 2 ? spec.gpus : -1;
  return {user, name, size};
}

Duration Estimator::estimate(const JobSpec& spec) const {
  if (!learns()) {
    return spec.estimate > Duration() ? spec.estimate : kDefaultEstimate;
  }
  for (int level = 0; level < kLevels; ++level) {
    const auto found = records_.find(key_at(spec, level));
    if (found == records_.end()) continue;
    std::vector<Duration> sorted = found->second.latest;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return std::max(*middle, Duration::seconds(1));
  }
  return kDefaultEstimate;
}

void Estimator::learn(const JobSpec& spec, Duration work) {
  if (!learns()) return;
  for (int level = 0; level < kLevels; ++level) {
    Record& record = records_[key_at(spec, level)];
    if (record.latest.size() < kRemembered) {
      record.latest.push_back(work);
    } else {
      record.latest[record.next] = work;
      record.next = (record.next + 1) % kRemembered;
    }
  }
}

}  // namespace muster
