#include "engine/fit/memory_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr int kTenths = 10;
constexpr double kStraightEnough = 0.02;
constexpr std::size_t kMaxPoints = 200;  // Profile files allow 256.

// Tolerance in MiB for rounding errors.
constexpr double kWhole = 1e-6;

bool reads(const DataFacts& facts) { return facts.dataset_mib > 0 && facts.mib_per_step > 0; }

// Seconds per MiB, for a job whose step takes `measured` with everything cached. Memory is at least
// as fast as in that run, even if a separate bandwidth measurement was lower. Storage is at most as
// fast as memory, so that caching never slows a job down.
struct Rates {
  double cached = 0;
  double missed = 0;
};
Rates rates(double measured, const DataFacts& facts) {
  const double cached = std::min(1.0 / facts.mem_mib_per_s, measured / facts.mib_per_step);
  return {cached, std::max(cached, 1.0 / facts.storage_mib_per_s)};
}

double missed_mib_per_step(double mem_mib, const DataFacts& facts) {
  return facts.mib_per_step * (1.0 - cached_part(mem_mib, facts));
}

std::int64_t whole_mib(double mib) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(mib - kWhole)));
}

// Relative error of linear interpolation between the speeds at two columns.
double bow(double measured, std::int64_t low, std::int64_t high, std::int64_t middle,
           const DataFacts& facts) {
  const auto speed = [&](std::int64_t mem) {
    return 1.0 / step_seconds(measured, static_cast<double>(mem), facts);
  };
  const double fraction = static_cast<double>(middle - low) / static_cast<double>(high - low);
  const double straight = speed(low) + (speed(high) - speed(low)) * fraction;
  return std::abs(straight / speed(middle) - 1.0);
}

// Bisects intervals with a large interpolation error. `points` are the mandatory columns.
std::vector<std::int64_t> straightened(std::vector<std::int64_t> points,
                                       std::span<const double> measured, const DataFacts& facts) {
  std::vector<std::int64_t> fine;
  std::reverse(points.begin(), points.end());  // Now a stack with the smallest on top.
  fine.push_back(points.back());
  points.pop_back();
  while (!points.empty()) {
    const std::int64_t low = fine.back();
    const std::int64_t high = points.back();
    const std::int64_t middle = low + (high - low) / 2;
    const bool full = fine.size() + points.size() >= kMaxPoints;
    const bool bent = middle > low && std::ranges::any_of(measured, [&](double seconds) {
                        return bow(seconds, low, high, middle, facts) > kStraightEnough;
                      });
    if (bent && !full) {
      points.push_back(middle);
    } else {
      fine.push_back(high);
      points.pop_back();
    }
  }
  return fine;
}

}  // namespace

MaybeError check_data(const DataFacts& facts) {
  const auto check = [](const char* name, double value, bool zero_is_fine) -> MaybeError {
    if (std::isfinite(value) && value <= 1e12 && (value > 0 || (zero_is_fine && value == 0))) {
      return std::nullopt;
    }
    return Error{fmt::format("{}: not a {} number up to 1e12: {}", name,
                             zero_is_fine ? "non-negative" : "positive", value)};
  };
  if (auto refusal = check("dataset_mib", facts.dataset_mib, true)) return refusal;
  if (auto refusal = check("mib_per_step", facts.mib_per_step, true)) return refusal;
  if (auto refusal = check("base_mem_mib", facts.base_mem_mib, true)) return refusal;
  const bool idle = !reads(facts);
  if (auto refusal = check("mem_mib_per_s", facts.mem_mib_per_s, idle)) return refusal;
  return check("storage_mib_per_s", facts.storage_mib_per_s, idle);
}

double cached_part(double mem_mib, const DataFacts& facts) {
  if (!reads(facts)) return 1.0;
  return std::clamp((mem_mib - facts.base_mem_mib) / facts.dataset_mib, 0.0, 1.0);
}

double step_seconds(double measured, double mem_mib, const DataFacts& facts) {
  MUSTER_CHECK(measured > 0);
  if (!reads(facts)) return measured;
  const Rates rate = rates(measured, facts);
  const double missed = missed_mib_per_step(mem_mib, facts);
  return std::max(measured, (facts.mib_per_step - missed) * rate.cached + missed * rate.missed);
}

std::int64_t least_full_speed_mem_mib(double measured, const DataFacts& facts) {
  if (!reads(facts)) return whole_mib(facts.base_mem_mib);
  const Rates rate = rates(measured, facts);
  if (rate.missed <= rate.cached) return whole_mib(facts.base_mem_mib);
  const double slack = measured / facts.mib_per_step - rate.cached;
  const double missed = std::min(1.0, slack / (rate.missed - rate.cached));
  return whole_mib(facts.base_mem_mib + facts.dataset_mib * (1.0 - missed));
}

std::vector<std::int64_t> memory_points(std::span<const double> measured, const DataFacts& facts) {
  std::vector<std::int64_t> points = {whole_mib(facts.base_mem_mib)};
  if (!reads(facts)) return points;
  for (int i = 1; i <= kTenths; ++i) {
    points.push_back(whole_mib(facts.base_mem_mib + facts.dataset_mib * i / kTenths));
  }
  for (const double seconds : measured) {
    points.push_back(least_full_speed_mem_mib(seconds, facts));
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return straightened(std::move(points), measured, facts);
}

double missed_mib_per_epoch(double mem_mib, const DataFacts& facts) {
  return facts.dataset_mib * (1.0 - cached_part(mem_mib, facts));
}

double storage_wanted_mib_per_s(double measured, double mem_mib, const DataFacts& facts) {
  if (!reads(facts)) return 0;
  const double missed = missed_mib_per_step(mem_mib, facts);
  if (missed <= 0) return 0;
  const double cached_seconds = (facts.mib_per_step - missed) * rates(measured, facts).cached;
  const double left = step_seconds(measured, mem_mib, facts) - cached_seconds;
  return std::min(facts.storage_mib_per_s, missed / left);
}

}  // namespace muster
