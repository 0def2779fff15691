#include "engine/core/estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "base/types/enum_names.h"

namespace muster {

namespace {

using Kind = EstimateSource::Kind;

constexpr EnumNames<Kind, Kind::kProgress> kKindNames({"oracle", "noisy", "user", "history",
                                                       "progress"});

constexpr Duration kMinEstimate = Duration::seconds(1);

Duration median_of(std::vector<Duration> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string EstimateSource::text() const {
  if (kind == Kind::kNoisy) return fmt::format("noisy:{}", sigma);
  return std::string(kKindNames[kind]);
}

Result<EstimateSource> parse_estimate_source(std::string_view text) {
  const std::optional<Kind> kind = kKindNames.find(text);
  if (kind && kind != Kind::kNoisy) return EstimateSource{*kind, 0};
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

Duration Estimator::estimate(const JobSpec& spec) const {
  if (!learns()) {
    return spec.estimate > Duration() ? spec.estimate : kDefaultEstimate;
  }
  for (int level = 0; level < PastRunTimes::kLevels; ++level) {
    const std::vector<Duration>* const found = past_.find(spec, level);
    if (found == nullptr) continue;
    return std::max(median_of(*found), kMinEstimate);
  }
  return kDefaultEstimate;
}

Duration Estimator::remaining_after(const JobSpec& spec, Duration done) const {
  std::vector<Duration> longer;
  for (int level = 0; learns() && longer.empty() && level < PastRunTimes::kLevels; ++level) {
    const std::vector<Duration>* const found = past_.find(spec, level);
    if (found == nullptr) continue;
    std::copy_if(found->begin(), found->end(), std::back_inserter(longer),
                 [&](Duration work) { return work > done; });
  }
  if (longer.empty()) return std::max(done, kMinEstimate);
  return std::max(median_of(std::move(longer)) - done, kMinEstimate);
}

void Estimator::learn(const JobSpec& spec, Duration work) {
  if (learns()) past_.add(spec, work);
}

}  // namespace muster
