#include "live/lease/job_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace muster {

namespace {

using nlohmann::json;

constexpr double kMinLeft = 0.1;   // Minimum fraction of a forecast that remains, at any age.
constexpr double kLongest = 1e11;  // Longest time in seconds that is printed.
constexpr double kMaxCountedReports = 1e12;  // Larger counts are mistakes.

constexpr double kMinNotable = 1;  // Seconds.
constexpr double kNotable = 0.1;   // Fraction of the remaining time.
constexpr Duration kOld = Duration::seconds(300);

bool is_sane_figure(double value) {
  return std::fabs(value) <= kMaxCountedReports;
}  // False for NaN.

// "10,000"
std::string with_commas(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

// left.end is seldom a whole number, so it is rounded.
std::string by_what(const Remaining& left) {
  if (left.by == Remaining::By::kSteps) {
    return fmt::format("based on steps: {} of {}", with_commas(left.done), with_commas(left.end));
  }
  return fmt::format("based on its loss, which converges after about {:.0f} epochs", left.end);
}

}  // namespace

void JobSeries::add(double ran, std::uint32_t lease, std::optional<double> step,
                    std::optional<double> epoch, std::optional<double> total) {
  // The run time of an ended lease may be shorter than at the last poll.
  ran = std::max(ran, latest_);
  if (step && *step >= 0) steps_.add({ran, *step, lease});
  if (epoch && *epoch >= 0) epochs_.add({ran, *epoch, lease});
  if (total) total_ = total;
  latest_ = ran;
}

void JobSeries::add_loss(double epoch, double loss) {
  // A job that resumed from an earlier checkpoint reports the same epochs again.
  losses_.drop_last_while([&](const LossPoint& point) { return point.epoch > epoch; });
  losses_.add({epoch, loss});
}

Result<Remaining> JobSeries::predict(Duration ran) const {
  JobReports told;
  told.steps = steps_.points();
  told.epochs = epochs_.points();
  told.losses = losses_.points();
  told.total = total_;
  Result<Remaining> left = predict_remaining(told);
  if (!left.ok()) return left;
  Remaining now = left.value();
  const double since = std::max(0.0, ran.in_seconds() - latest_);
  for (double* part : {&now.seconds, &now.low, &now.high}) {
    *part = std::max(*part - since, *part * kMinLeft);
  }
  return now;
}

std::optional<JobSeries::Latest> JobSeries::latest(std::uint32_t lease) const {
  const std::vector<PacePoint>& steps = steps_.points();
  if (steps.empty() || steps.back().lease != lease) return std::nullopt;
  const auto first = std::find_if(steps.begin(), steps.end(),
                                  [&](const PacePoint& p) { return p.lease == lease; });
  Latest latest;
  latest.steps = steps.back().at;
  const double seconds = steps.back().seconds - first->seconds;
  if (seconds > 0) latest.rate = (steps.back().at - first->at) / seconds;
  if (!epochs_.points().empty()) latest.epochs = epochs_.points().back().at;
  if (!losses_.points().empty()) latest.loss = losses_.points().back().loss;
  for (const double each : {latest.steps, latest.rate, latest.epochs, latest.loss}) {
    if (!is_sane_figure(each)) return std::nullopt;
  }
  return latest;
}

bool is_notable(const Remaining& left, double expected, Duration since) {
  const double off = std::fabs(left.seconds - expected);
  const double noise = std::max(kMinNotable, (left.high - left.low) / 2);
  // A factor of two is never noise.
  const double least = std::min(left.seconds, expected);
  if (off > kMinNotable && off > least) return true;
  if (off <= noise) return false;
  return since >= kOld || off > kNotable * std::max(left.seconds, expected);
}

std::string time_words(double seconds) {
  const auto s = static_cast<std::int64_t>(
      std::isfinite(seconds) ? std::clamp(std::round(seconds), 0.0, kLongest) : 0.0);
  if (s < 100) return fmt::format("{} s", s);
  const std::int64_t minutes = (s + 30) / 60;
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 24 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  const std::int64_t hours = (minutes + 30) / 60;
  const std::int64_t days = hours / 24;
  return fmt::format("{} day{} {} h", days, days == 1 ? "" : "s", hours % 24);
}

json remaining_json(const Result<Remaining>& left) {
  if (!left.ok()) return {{"words", "no forecast: " + left.error().message}};
  const Remaining& say = left.value();
  const bool by_steps = say.by == Remaining::By::kSteps;
  const std::string low = time_words(say.low);
  const std::string high = time_words(say.high);
  const std::string range = low == high ? "" : fmt::format(" ({} to {})", low, high);
  return {{"seconds", say.seconds},
          {"low", say.low},
          {"high", say.high},
          {"by", by_steps ? "steps" : "loss"},
          {"words", fmt::format("about {}{}, {}", time_words(say.seconds), range, by_what(say))}};
}

}  // namespace muster
