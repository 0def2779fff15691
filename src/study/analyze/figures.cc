#include "study/analyze/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text/text.h"
#include "base/text/wording.h"
#include "base/types/check.h"
#include "base/types/saturate.h"

namespace muster {

Sample::Sample(std::vector<std::int64_t> values) : values_(std::move(values)) {
  std::sort(values_.begin(), values_.end());
  for (const std::int64_t value : values_) sum_ = saturating_add(sum_, value);
}

std::int64_t Sample::percentile(std::size_t percent) const {
  MUSTER_CHECK(!empty() && percent <= 100);
  const std::size_t middle = size() / 2;
  if (percent == 50 && size() % 2 == 0) {
    const std::int64_t low = values_[middle - 1];
    return low + (values_[middle] - low + 1) / 2;
  }
  return values_[std::min(size() * percent / 100, size() - 1)];
}

double Sample::mean() const {
  MUSTER_CHECK(!empty());
  return static_cast<double>(sum_) / static_cast<double>(size());
}

std::size_t Sample::at_most(std::int64_t limit) const {
  const auto above = std::upper_bound(values_.begin(), values_.end(), limit);
  return static_cast<std::size_t>(above - values_.begin());
}

Cell count_cell(std::size_t count) { return static_cast<std::int64_t>(count); }

Cell share_cell(double part, double whole) {
  if (whole <= 0) return {};
  return Number{100 * part / whole, 1};
}

Cell ratio_cell(double part, double whole, int decimals) {
  if (whole <= 0) return {};
  return Number{part / whole, decimals};
}

Cell time_cell(double us, double unit, int decimals) { return Number{us / unit, decimals}; }

Cell percentile_cell(const Sample& sample, std::size_t percent, double unit) {
  if (sample.empty()) return {};
  return time_cell(static_cast<double>(sample.percentile(percent)), unit, 2);
}

Cell mean_cell(const Sample& sample, double unit) {
  if (sample.empty()) return {};
  return time_cell(sample.mean(), unit, 2);
}

std::string many(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "0%";
}

std::string lasting(double us) {
  constexpr double kMax = 9e18;  // Saturated sums may be as large as this.
  return short_duration(Duration::micros(static_cast<std::int64_t>(std::min(us, kMax))));
}

std::string gpu_hours(std::int64_t gpu_us) {
  const double hours = static_cast<double>(gpu_us) / kHour;
  if (hours < 100) return fmt::format("{:.1f} GPU hours", hours);
  return grouped(static_cast<std::uint64_t>(hours + 0.5)) + " GPU hours";
}

std::string date_text(Instant at) {
  using std::chrono::days;
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(at.us())};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto minute = std::chrono::duration_cast<std::chrono::minutes>(time - day).count();
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     minute / 60, minute % 60);
}

std::string size_words(std::size_t size) {
  return size + 1 < kSizes ? size_label(size) : "more than 8 GPUs";
}

std::string size_label(std::size_t size) {
  return fmt::format("{} {}", kWaitSizes[size], size == 0 ? "GPU" : "GPUs");
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

namespace {

Series cdf_series(const NamedSample& named, double unit, double least) {
  Series series;
  series.name = named.name;
  const std::vector<std::int64_t>& values = named.sample->values();
  const std::size_t points = std::min(values.size(), kMaxCdfPoints);
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t upto = (i + 1) * values.size() / points;
    const double x = std::max(static_cast<double>(values[upto - 1]) / unit, least);
    const double y = 100 * static_cast<double>(upto) / static_cast<double>(values.size());
    if (!series.x.empty() && series.x.back() == x) {
      series.y.back() = y;
    } else {
      series.x.push_back(x);
      series.y.push_back(y);
    }
  }
  return series;
}

}  // namespace

Plot cdf_plot(const PlotWords& words, const std::vector<NamedSample>& samples, double unit,
              double least) {
  Plot plot;
  plot.key = words.key;
  plot.title = words.title;
  plot.x_label = fmt::format("{} (minimum {:g})", words.x_label, least);
  plot.y_label = "jobs (%)";
  plot.kind = Plot::Kind::kSteps;
  plot.scale = Plot::Scale::kLog;
  for (const NamedSample& named : samples) {
    if (named.sample->empty()) continue;
    if (named.sample->size() > kMaxCdfPoints) {
      plot.thinned = fmt::format("{} points per line, at equal steps of jobs", kMaxCdfPoints);
    }
    plot.series.push_back(cdf_series(named, unit, least));
  }
  return plot;
}

namespace {

// Integrals of the level over equal windows, starting at `begin`.
std::vector<double> window_sums(const std::vector<Step>& steps, Instant begin, Instant end,
                                std::int64_t width) {
  const auto windows = static_cast<std::size_t>(((end - begin).us() + width - 1) / width);
  std::vector<double> sums(windows, 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Instant to = std::min(end, i + 1 < steps.size() ? steps[i + 1].at : end);
    Instant from = std::max(begin, steps[i].at);
    while (from < to) {
      const std::int64_t window = (from - begin).us() / width;
      const Instant stop = std::min(to, begin + Duration::micros((window + 1) * width));
      sums[static_cast<std::size_t>(window)] +=
          static_cast<double>(steps[i].level) * static_cast<double>((stop - from).us());
      from = stop;
    }
  }
  return sums;
}

}  // namespace

Plot share_bars(std::string key, std::string title, std::string counted,
                const std::vector<ShareRow>& rows, const ShareRow& all, bool with_time) {
  const auto percent_of = [](std::int64_t part, std::int64_t whole) {
    return 100 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, whole));
  };
  Plot plot;
  plot.key = std::move(key);
  plot.title = std::move(title);
  plot.y_label = "%";
  plot.kind = Plot::Kind::kBars;
  Series counts{std::move(counted), {}, {}};
  Series time{"GPU time", {}, {}};
  for (const ShareRow& row : rows) {
    plot.categories.push_back(row.category);
    counts.y.push_back(percent_of(row.count, all.count));
    time.y.push_back(percent_of(row.gpu_us, all.gpu_us));
  }
  plot.series.push_back(std::move(counts));
  if (with_time) plot.series.push_back(std::move(time));
  return plot;
}

Series steps_series(std::string name, const std::vector<Step>& steps, Instant begin, Instant end,
                    std::string& thinned) {
  Series series;
  series.name = std::move(name);
  const auto add = [&](Instant at, double level) {
    series.x.push_back((at - begin).in_seconds());
    series.y.push_back(level);
  };
  if (steps.size() < kMaxStepPoints) {
    if (!steps.empty() && steps.front().at > begin) add(begin, 0);
    for (const Step& step : steps) add(step.at, static_cast<double>(step.level));
    return series;
  }
  const auto points = static_cast<std::int64_t>(kMaxStepPoints);
  const std::int64_t width = std::max<std::int64_t>(1, ((end - begin).us() + points - 1) / points);
  const std::vector<double> sums = window_sums(steps, begin, end, width);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Instant from = begin + Duration::micros(static_cast<std::int64_t>(i) * width);
    const Instant to = std::min(end, from + Duration::micros(width));
    add(from, sums[i] / static_cast<double>((to - from).us()));
  }
  thinned = fmt::format("means over {}, from {}", lasting(static_cast<double>(width)),
                        many(steps.size(), "step"));
  return series;
}

}  // namespace muster
