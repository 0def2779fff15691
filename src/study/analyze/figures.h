#pragma once

// Helpers for pages: percentiles, distributions, and their text, cells and plots. No side effects.
// Sums and percentiles are in whole microseconds. A value of an empty sample gives an empty cell,
// never NaN.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "study/analyze/study_input.h"
#include "study/page/page.h"

namespace muster {

// Sorted numbers.
class Sample {
 public:
  Sample() = default;
  explicit Sample(std::vector<std::int64_t> values);

  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  // As in sim/results/summary.h: the value at index floor(percent * n / 100); the 50th is the
  // median. REQUIRES: the sample is not empty.
  std::int64_t percentile(std::size_t percent) const;
  double mean() const;  // REQUIRES: the sample is not empty.
  std::int64_t sum() const { return sum_; }
  std::size_t at_most(std::int64_t limit) const;
  const std::vector<std::int64_t>& values() const { return values_; }  // Ascending.

 private:
  std::vector<std::int64_t> values_;
  std::int64_t sum_ = 0;
};

inline constexpr double kMinute = 6e7;  // Microseconds.
inline constexpr double kHour = 3.6e9;

Cell count_cell(std::size_t count);
Cell share_cell(double part, double whole);  // In percent; empty if `whole` is 0.
Cell ratio_cell(double part, double whole, int decimals = 2);
Cell time_cell(double us, double unit, int decimals = 1);
Cell percentile_cell(const Sample& sample, std::size_t percent, double unit = kMinute);
Cell mean_cell(const Sample& sample, double unit = kMinute);

std::string many(std::size_t count, std::string_view noun);  // "1 job", "82,247 jobs".
std::string percent(double part, double whole);              // "12.3%"; "0%" if `whole` is 0.
std::string lasting(double us);                              // "3.40 h".
std::string gpu_hours(std::int64_t gpu_us);                  // "1,234.5 GPU hours".
std::string date_text(Instant at);                           // "2017-10-09 14:02 UTC".
std::string size_words(std::size_t size);                    // "1 GPU", "more than 8 GPUs".
std::string size_label(std::size_t size);                    // "1 GPU", ">8 GPUs".
// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& words);

// A sample with its name in a plot of distributions.
struct NamedSample {
  std::string name;
  const Sample* sample = nullptr;
};
struct PlotWords {
  std::string key, title, x_label;
};
inline constexpr std::size_t kMaxCdfPoints = 200;
// Cumulative distributions on a logarithmic scale: y percent of the values are at most x. Values
// below `least` units are shown at `least`. Empty samples have no series.
Plot cdf_plot(const PlotWords& words, const std::vector<NamedSample>& samples, double unit,
              double least);

// One category of a bar chart.
struct ShareRow {
  std::string category;
  std::int64_t count = 0;
  std::int64_t gpu_us = 0;
};
// Bars with the share of each category, in percent of `all`: of the count (named `counted`), and of
// the GPU time if `with_time`.
Plot share_bars(std::string key, std::string title, std::string counted,
                const std::vector<ShareRow>& rows, const ShareRow& all, bool with_time);

// A level over time, from begin to end. Long series are reduced to means of equal windows, and
// `thinned` then describes this.
inline constexpr std::size_t kMaxStepPoints = 1000;
Series steps_series(std::string name, const std::vector<Step>& steps, Instant begin, Instant end,
                    std::string& thinned);

}  // namespace muster
