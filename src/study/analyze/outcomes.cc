#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/types/saturate.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::array<std::string_view, 4> kStatusNames = {"passed", "killed", "failed",
                                                          "not known"};
constexpr std::size_t kStatuses = kStatusNames.size();

struct OutcomeTally {
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

PageTable totals_table(const OutcomeTally& all) {
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

PageTable sizes_table(const std::array<OutcomeTally, kSizes>& sizes) {
  PageTable table;
  table.key = "outcomes-by-size";
  table.title = "By number of GPUs";
  table.columns = {"GPUs", "jobs"};
  for (const std::string_view name : kStatusNames) {
    table.columns.push_back(fmt::format("{} (% of jobs)", name));
  }
  for (const std::string_view name : kStatusNames) {
    table.columns.push_back(fmt::format("{} (% of GPU hours)", name));
  }
  for (std::size_t s = 0; s < kSizes; ++s) {
    const OutcomeTally& of = sizes[s];
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

Plot outcome_plot(const OutcomeTally& all, bool runs) {
  std::vector<ShareRow> shares;
  for (std::size_t i = 0; i < kStatuses; ++i) {
    shares.push_back(
        {std::string(kStatusNames[i]), static_cast<std::int64_t>(all.jobs[i]), all.gpu_us[i]});
  }
  return share_bars("outcomes-plot", "Outcomes of jobs", "jobs", shares,
                    {"", static_cast<std::int64_t>(all.all_jobs()), all.all_gpu_us()}, runs);
}

}  // namespace

void outcomes(const StudyInput& asked, Section& section) {
  const Knows& knows = asked.history.knows;
  if (!knows.status) {
    section.missing = "the outcomes of jobs";
    return;
  }
  std::array<OutcomeTally, kSizes> sizes;
  OutcomeTally all;
  for (const StudyJob& job : asked.jobs) {
    const auto status = static_cast<std::size_t>(asked.past(job).status);
    sizes[job.size].add(status, job.gpu_us);
    all.add(status, job.gpu_us);
  }
  section.tables = {totals_table(all), sizes_table(sizes)};
  const auto jobs = static_cast<double>(all.all_jobs());
  if (all.all_jobs() == 0) {
    section.findings.emplace_back("No job has a known number of GPUs.");
    return;
  }
  section.findings.push_back(
      fmt::format("{}: {} passed, {} were killed and {} failed{}.", many(all.all_jobs(), "job"),
                  percent(static_cast<double>(all.jobs[0]), jobs),
                  percent(static_cast<double>(all.jobs[1]), jobs),
                  percent(static_cast<double>(all.jobs[2]), jobs),
                  all.jobs[3] > 0 ? fmt::format("; {} are unknown or had not ended",
                                                percent(static_cast<double>(all.jobs[3]), jobs))
                                  : ""));
  if (all.all_gpu_us() > 0) {
    section.findings.push_back(
        fmt::format("Jobs that did not pass took {} of the GPU time.",
                    percent(static_cast<double>(all.all_gpu_us() - all.gpu_us[0]),
                            static_cast<double>(all.all_gpu_us()))));
  }
  if (!knows.runs) section.missing = "run times, so shares of GPU time are unknown";
  section.plots.push_back(outcome_plot(all, knows.runs));
}

}  // namespace muster
