#include <fmt/format.h>

#include <array>

#include "base/types/saturate.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::int64_t kWeekUs = 7 * 24 * 3'600'000'000LL;

struct OfSize {
  Sample runs;
  std::int64_t gpu_us = 0;

  std::size_t over_a_week() const { return runs.size() - runs.at_most(kWeekUs); }
};

std::vector<Cell> row_of(std::string_view name, const OfSize& of, std::int64_t all_gpu_us) {
  const auto jobs = static_cast<double>(of.runs.size());
  return {std::string(name),
          count_cell(of.runs.size()),
          percentile_cell(of.runs, 10),
          percentile_cell(of.runs, 50),
          percentile_cell(of.runs, 90),
          percentile_cell(of.runs, 99),
          mean_cell(of.runs),
          share_cell(static_cast<double>(of.over_a_week()), jobs),
          time_cell(static_cast<double>(of.gpu_us), kHour),
          share_cell(static_cast<double>(of.gpu_us), static_cast<double>(all_gpu_us))};
}

void add_findings(const std::array<OfSize, kSizes>& sizes, const OfSize& all, Section& section) {
  if (all.runs.empty()) {
    section.findings.emplace_back("No job has a known run time.");
    return;
  }
  std::vector<std::string> medians;
  for (std::size_t i = 0; i < kSizes; ++i) {
    if (sizes[i].runs.empty()) continue;
    medians.push_back(fmt::format(
        "{} on {}", lasting(static_cast<double>(sizes[i].runs.percentile(50))), size_words(i)));
  }
  section.findings.push_back("Half of the jobs ran at most " + listed(medians) + ".");
  const std::size_t large = sizes[2].runs.size() + sizes[3].runs.size();
  const std::int64_t large_us = saturating_add(sizes[2].gpu_us, sizes[3].gpu_us);
  section.findings.push_back(fmt::format(
      "{} of the jobs ran for more than a week. Jobs of more than 4 GPUs are {} of the jobs and "
      "took {} of the GPU time.",
      percent(static_cast<double>(all.over_a_week()), static_cast<double>(all.runs.size())),
      percent(static_cast<double>(large), static_cast<double>(all.runs.size())),
      percent(static_cast<double>(large_us), static_cast<double>(all.gpu_us))));
}

}  // namespace

void run_times(const StudyInput& asked, Section& section) {
  if (!asked.history.knows.runs) {
    section.missing = "run times";
    return;
  }
  std::array<std::vector<std::int64_t>, kSizes> runs;
  std::vector<std::int64_t> every;
  std::array<OfSize, kSizes> sizes;
  OfSize all;
  for (const StudyJob& job : asked.jobs) {
    const std::int64_t run = asked.past(job).run.us();
    if (run <= 0) continue;
    runs[job.size].push_back(run);
    every.push_back(run);
    sizes[job.size].gpu_us = saturating_add(sizes[job.size].gpu_us, job.gpu_us);
    all.gpu_us = saturating_add(all.gpu_us, job.gpu_us);
  }
  all.runs = Sample(std::move(every));
  PageTable table;
  table.key = "run-times";
  table.columns = {"GPUs",          "jobs",          "run p10 (min)", "run p50 (min)",
                   "run p90 (min)", "run p99 (min)", "mean (min)",    "over a week (%)",
                   "GPU hours",     "GPU hours (%)"};
  std::vector<NamedSample> samples;
  for (std::size_t i = 0; i < kSizes; ++i) {
    sizes[i].runs = Sample(std::move(runs[i]));
    table.rows.push_back(row_of(kWaitSizes[i], sizes[i], all.gpu_us));
    samples.push_back({size_label(i), &sizes[i].runs});
  }
  table.rows.push_back(row_of("all", all, all.gpu_us));
  add_findings(sizes, all, section);
  const std::size_t unknown = asked.jobs.size() - all.runs.size();
  if (unknown > 0) {
    section.missing =
        fmt::format("the run times of {}, which are omitted here", many(unknown, "job"));
  }
  section.tables.push_back(std::move(table));
  if (!all.runs.empty()) {
    section.plots.push_back(
        cdf_plot({"run-time-cdf", "Run times by size", "run time (min)"}, samples, kMinute, 0.1));
  }
}

}  // namespace muster
