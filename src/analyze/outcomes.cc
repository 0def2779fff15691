#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analyze/figures.h"
#include "analyze/sections.h"
#include "base/saturate.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 4> kStatusNames = {"passed", "killed", "failed",
                                                          "not known"};
constexpr std::size_t kStatuses = kStatusNames.size();

struct Tally {
  std::array<std::size_t, kStatuses> jobs = {};
  std::array<std::int64_t, kStatuses> gpu_us = {};

  void add(std::size_t status, std::int64_t time) {
    ++jobs[status];
    gpu_us[status] = saturating_add(gpu_us[status], time);
  }
  std::size_t all_jobs() const {
    std::size_t all = 0;
    for (const std::size_t count : jobs) all += count;
    return all;
  }
  std::int64_t all_gpu_us() const {
    std::int64_t all = 0;
    for (const std::int64_t time : gpu_us) all = saturating_add(all, time);
    return all;
  }
};

PageTable totals_table(const Tally& all) {
  PageTable table;
  table.key = "outcomes";
  table.columns = {"outcome", "jobs", "jobs (%)", "GPU hours", "GPU hours (%)"};
  for (std::size_t i = 0; i < kStatuses; ++i) {
    const auto time = static_cast<double>(all.gpu_us[i]);
    table.rows.push_back(
        {std::string(kStatusNames[i]), count_cell(all.jobs[i]),
         share_cell(static_cast<double>(all.jobs[i]), static_cast<double>(all.all_jobs())),
         time_cell(time, kHour), share_cell(time, static_cast<double>(all.all_gpu_us()))});
  }
  return table;
}

PageTable sizes_table(const std::array<Tally, kSizes>& sizes) {
  PageTable table;
  table.key = "outcomes-by-size";
  table.title = "By GPUs";
  table.columns = {"GPUs", "jobs"};
  for (const std::string_view name : kStatusNames) {
    table.columns.push_back(fmt::format("{} (% of jobs)", name));
  }
  for (const std::string_view name : kStatusNames) {
    table.columns.push_back(fmt::format("{} (% of GPU hours)", name));
  }
  for (std::size_t s = 0; s < kSizes; ++s) {
    const Tally& of = sizes[s];
    std::vector<Cell> row = {std::string(kWaitSizes[s]), count_cell(of.all_jobs())};
    for (const std::size_t jobs : of.jobs) {
      row.push_back(share_cell(static_cast<double>(jobs), static_cast<double>(of.all_jobs())));
    }
    for (const std::int64_t time : of.gpu_us) {
      row.push_back(share_cell(static_cast<double>(time), static_cast<double>(of.all_gpu_us())));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Plot outcome_plot(const Tally& all, bool runs) {
  Plot plot;
  plot.key = "outcomes-plot";
  plot.title = "How jobs ended";
  plot.y_label = "%";
  plot.kind = Plot::Kind::kBars;
  Series jobs;
  Series time;
  jobs.name = "jobs";
  time.name = "GPU time";
  for (std::size_t i = 0; i < kStatuses; ++i) {
    plot.categories.emplace_back(kStatusNames[i]);
    jobs.y.push_back(100 * static_cast<double>(all.jobs[i]) /
                     static_cast<double>(std::max<std::size_t>(1, all.all_jobs())));
    time.y.push_back(100 * static_cast<double>(all.gpu_us[i]) /
                     static_cast<double>(std::max<std::int64_t>(1, all.all_gpu_us())));
  }
  plot.series.push_back(std::move(jobs));
  if (runs) plot.series.push_back(std::move(time));
  return plot;
}

}  // namespace

Section outcomes(const Asked& asked) {
  const Knows& knows = asked.history.knows;
  Section section;
  section.key = "outcomes";
  section.title = "How jobs ended";
  if (!knows.status) {
    section.missing = "how jobs ended";
    return section;
  }
  std::array<Tally, kSizes> sizes;
  Tally all;
  for (const StudyJob& job : asked.jobs) {
    const auto status = static_cast<std::size_t>(asked.past(job).status);
    sizes[job.size].add(status, job.gpu_us);
    all.add(status, job.gpu_us);
  }
  section.tables = {totals_table(all), sizes_table(sizes)};
  const auto jobs = static_cast<double>(all.all_jobs());
  if (all.all_jobs() == 0) {
    section.findings.emplace_back("There is no job whose GPUs are known.");
    return section;
  }
  section.findings.push_back(
      fmt::format("Of {}, {} passed, {} were killed and {} failed{}.", many(all.all_jobs(), "job"),
                  percent(static_cast<double>(all.jobs[0]), jobs),
                  percent(static_cast<double>(all.jobs[1]), jobs),
                  percent(static_cast<double>(all.jobs[2]), jobs),
                  all.jobs[3] > 0 ? fmt::format("; of {} it is not known, or they had not ended",
                                                percent(static_cast<double>(all.jobs[3]), jobs))
                                  : ""));
  if (all.all_gpu_us() > 0) {
    section.findings.push_back(
        fmt::format("Jobs that did not pass took {} of the GPU time.",
                    percent(static_cast<double>(all.all_gpu_us() - all.gpu_us[0]),
                            static_cast<double>(all.all_gpu_us()))));
  }
  if (!knows.runs) section.missing = "how long jobs ran, so that shares of GPU time are not known";
  section.plots.push_back(outcome_plot(all, knows.runs));
  return section;
}

}  // namespace muster
