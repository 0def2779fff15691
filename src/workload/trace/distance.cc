#include "workload/trace/distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text/text.h"

namespace muster {

namespace {

using Values = std::vector<std::int64_t>;

Values durations_of(const Trace& trace) {
  Values values;
  values.reserve(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) values.push_back(job.duration.us());
  return values;
}

Values gpus_of(const Trace& trace) {
  Values values;
  values.reserve(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) values.push_back(job.gpus);
  return values;
}

Values gaps_of(const Trace& trace) {
  Values values;
  values.reserve(trace.jobs.size());
  for (std::size_t i = 1; i < trace.jobs.size(); ++i) {
    values.push_back((trace.jobs[i].submit - trace.jobs[i - 1].submit).us());
  }
  return values;
}

// Returns the value at index floor(percent / 100 * n).
std::int64_t percentile(Values values, std::size_t percent) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(percent * values.size() / 100);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

std::string row(std::string_view label, std::string_view a, std::string_view b,
                std::string_view distance) {
  std::string line = fmt::format("  {:<14}{:>12}{:>12}{:>12}", label, a, b, distance);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string time_rows(std::string_view what, const Values& a, const Values& b, double distance) {
  const auto cell = [](const Values& values, std::size_t percent) {
    return short_duration(Duration::micros(percentile(values, percent)));
  };
  return row(fmt::format("{} p50", what), cell(a, 50), cell(b, 50),
             fmt::format("{:.4f}", distance)) +
         row(fmt::format("{} p90", what), cell(a, 90), cell(b, 90), "");
}

std::string share_on_one(const Values& gpus) {
  const auto one = std::count(gpus.begin(), gpus.end(), 1);
  const double all = std::max(1.0, static_cast<double>(gpus.size()));
  return fmt::format("{:.1f}%", 100 * static_cast<double>(one) / all);
}

}  // namespace

double ks_distance(Values a, Values b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty() ? 0 : 1;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const auto size_a = static_cast<double>(a.size());
  const auto size_b = static_cast<double>(b.size());
  double most = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  // At the end of one list its distribution is 1, so the difference cannot grow.
  while (i < a.size() && j < b.size()) {
    const std::int64_t value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    most =
        std::max(most, std::abs(static_cast<double>(i) / size_a - static_cast<double>(j) / size_b));
  }
  return most;
}

TraceDistance distance_between(const Trace& a, const Trace& b) {
  return {ks_distance(durations_of(a), durations_of(b)), ks_distance(gpus_of(a), gpus_of(b)),
          ks_distance(gaps_of(a), gaps_of(b))};
}

std::string distance_text(const Trace& a, const Trace& b) {
  const TraceDistance distance = distance_between(a, b);
  std::string out =
      fmt::format("{}  ({})\nagainst {}  ({})\n\n", a.source, a.format, b.source, b.format);
  out += row("", "this", "that", "distance");
  out += row("jobs", std::to_string(a.jobs.size()), std::to_string(b.jobs.size()), "");
  out += time_rows("run time", durations_of(a), durations_of(b), distance.durations);
  out += row("on 1 GPU", share_on_one(gpus_of(a)), share_on_one(gpus_of(b)),
             fmt::format("{:.4f}", distance.gpus));
  out += time_rows("gap", gaps_of(a), gaps_of(b), distance.gaps);
  return out;
}

}  // namespace muster
