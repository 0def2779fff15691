#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/wording.h"
#include "base/types/saturate.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::int64_t kHourUs = 3'600'000'000;
constexpr std::size_t kHours = 24;
constexpr std::size_t kDays = 7;
constexpr std::array<std::string_view, kDays> kDayNames = {
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
constexpr std::int64_t kDayOf1970 = 3;  // 1 January 1970 was a Thursday.

struct Arrivals {
  std::array<std::size_t, kHours> by_hour = {};
  std::array<std::size_t, kDays> by_day = {};
};

// Counts all jobs, including those with unknown GPUs.
Arrivals arrivals_of(const History& history) {
  Arrivals arrivals;
  const std::int64_t first_day = history.knows.dates ? kDayOf1970 : 0;
  for (const PastJob& job : history.jobs) {
    std::int64_t hour = job.submit.us() / kHourUs;
    if (job.submit.us() % kHourUs < 0) --hour;
    constexpr std::int64_t kWeek = kHours * kDays;
    const std::int64_t in_week = ((hour + first_day * 24) % kWeek + kWeek) % kWeek;
    ++arrivals.by_hour[static_cast<std::size_t>(in_week) % kHours];
    ++arrivals.by_day[static_cast<std::size_t>(in_week) / kHours];
  }
  return arrivals;
}

Plot bars(const PlotWords& words, std::span<const std::size_t> counts,
          std::vector<std::string> categories) {
  Plot plot;
  plot.key = words.key;
  plot.title = words.title;
  plot.x_label = words.x_label;
  plot.y_label = "jobs";
  plot.kind = Plot::Kind::kBars;
  plot.categories = std::move(categories);
  Series series;
  series.name = "jobs submitted";
  for (const std::size_t count : counts) series.y.push_back(static_cast<double>(count));
  plot.series.push_back(std::move(series));
  return plot;
}

void add_arrivals(const StudyInput& asked, Section& section) {
  const Arrivals arrivals = arrivals_of(asked.history);
  const bool dates = asked.history.knows.dates;
  std::vector<std::string> hours;
  std::vector<std::string> days;
  for (std::size_t i = 0; i < kHours; ++i) hours.push_back(fmt::format("{}", i));
  for (std::size_t i = 0; i < kDays; ++i) {
    days.push_back(dates ? std::string(kDayNames[i]) : fmt::format("day {}", i + 1));
  }
  section.plots.push_back(bars({"arrivals-by-hour", "Jobs submitted by hour of the day",
                                dates ? "hour, UTC" : "hour since the start, modulo 24"},
                               arrivals.by_hour, hours));
  section.plots.push_back(bars({"arrivals-by-weekday", "Jobs submitted by day of the week",
                                dates ? "day, UTC" : "day since the start, modulo 7"},
                               arrivals.by_day, days));
  if (asked.history.jobs.empty()) return;
  const auto busiest = std::max_element(arrivals.by_hour.begin(), arrivals.by_hour.end());
  const auto all = static_cast<double>(asked.history.jobs.size());
  section.findings.push_back(
      fmt::format("The hour of the day with the most arrivals is {}{}, with {} of all jobs ("
                  "4.2% if arrivals were even).",
                  busiest - arrivals.by_hour.begin(),
                  dates ? " UTC" : " (since the start, modulo 24: the source has no dates)",
                  percent(static_cast<double>(*busiest), all)));
}

void add_use(const StudyInput& asked, Section& section) {
  const bool starts = asked.history.knows.starts;
  std::vector<Step> steps = asked.in_use;
  if (!starts) {
    std::vector<Step> changes;
    for (const StudyJob& job : asked.jobs) {
      const PastJob& past = asked.past(job);
      if (past.run <= Duration()) continue;
      changes.push_back({past.submit, past.gpus});
      changes.push_back({past.submit + past.run, -past.gpus});
    }
    steps = steps_of(std::move(changes));
  }
  if (steps.empty()) return;
  const Instant begin = std::min(asked.first, steps.front().at);
  const Instant end = std::max(asked.last, steps.back().at);
  Plot plot;
  plot.key = "gpus-over-time";
  plot.title = starts ? "GPUs in use" : "GPU demand if every job had started on submission";
  plot.x_label =
      asked.history.knows.dates ? "time since " + date_text(begin) : "time since the start";
  plot.y_label = "GPUs";
  plot.kind = Plot::Kind::kSteps;
  plot.scale = Plot::Scale::kTime;
  plot.series.push_back(
      steps_series(starts ? "in use" : "demand", steps, begin, end, plot.thinned));
  section.plots.push_back(std::move(plot));
  section.findings.push_back(
      fmt::format("The maximum {} {}{}.", starts ? "GPU usage was" : "demand was",
                  many(static_cast<std::size_t>(peak_of(steps)), "GPU"),
                  starts && asked.gpus_counted
                      ? fmt::format(" of {} on {}", grouped(static_cast<std::uint64_t>(asked.gpus)),
                                    many(asked.history.nodes.size(), "node"))
                      : ""));
}

// Returns how many of the names have a job, with any number of GPUs.
std::size_t in_use(const History& history, std::size_t names, std::uint32_t PastJob::*field) {
  std::vector<bool> seen(names, false);
  for (const PastJob& job : history.jobs) seen[job.*field] = true;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
}

std::string whose(const StudyInput& asked) {
  const History& history = asked.history;
  std::vector<std::string> parts;
  if (history.knows.tenants) {
    parts.push_back(many(in_use(history, history.tenants.size(), &PastJob::tenant), "tenant"));
  }
  if (history.knows.users) {
    parts.push_back(many(in_use(history, history.users.size(), &PastJob::user), "user"));
  }
  return parts.empty() ? "" : " of " + listed(parts);
}

void add_table(const StudyInput& asked, std::int64_t gpu_us, Section& section) {
  const History& history = asked.history;
  PageTable table;
  table.key = "overview";
  table.columns = {"what", "value"};
  const auto row = [&](std::string_view what, Cell value) {
    table.rows.push_back({std::string(what), std::move(value)});
  };
  row("jobs", count_cell(history.jobs.size()));
  row("jobs with unknown GPUs", asked.without_gpus);
  if (history.knows.dates && !history.jobs.empty()) {
    row("first moment", date_text(asked.first));
    row("last moment", date_text(asked.last));
  }
  row("span (days)", time_cell(static_cast<double>((asked.last - asked.first).us()), 24 * kHour));
  if (history.knows.tenants) {
    row("tenants", count_cell(in_use(history, history.tenants.size(), &PastJob::tenant)));
  }
  if (history.knows.users) {
    row("users", count_cell(in_use(history, history.users.size(), &PastJob::user)));
  }
  if (history.knows.runs) row("GPU hours", time_cell(static_cast<double>(gpu_us), kHour, 0));
  if (asked.gpus > 0) {
    row(asked.gpus_counted ? "GPUs of all nodes" : "maximum GPUs in use", asked.gpus);
  }
  section.tables.push_back(std::move(table));
}

}  // namespace

void overview(const StudyInput& asked, Section& section) {
  const History& history = asked.history;
  std::int64_t gpu_us = 0;
  for (const StudyJob& job : asked.jobs) gpu_us = saturating_add(gpu_us, job.gpu_us);
  const double span = static_cast<double>((asked.last - asked.first).us());
  section.findings.push_back(fmt::format("{}{} in {}{}.", many(history.jobs.size(), "job"),
                                         whose(asked), lasting(span),
                                         history.knows.runs ? ", using " + gpu_hours(gpu_us) : ""));
  add_table(asked, gpu_us, section);
  add_arrivals(asked, section);
  add_use(asked, section);
  if (!history.knows.starts) {
    section.missing = history.knows.runs
                          ? "start times; GPU demand is shown instead of GPUs in use"
                          : "start and run times; GPUs in use and GPU hours are unknown";
  }
}

}  // namespace muster
