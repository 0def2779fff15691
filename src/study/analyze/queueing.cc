#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::int64_t kMinuteUs = 60'000'000;

std::vector<Cell> row_of(std::string_view name, const Sample& waits) {
  const auto jobs = static_cast<double>(waits.size());
  const auto within = [&](std::int64_t minutes) {
    return share_cell(static_cast<double>(waits.at_most(minutes * kMinuteUs)), jobs);
  };
  return {std::string(name),
          count_cell(waits.size()),
          percentile_cell(waits, 50),
          percentile_cell(waits, 90),
          mean_cell(waits),
          within(1),
          within(3),
          within(10)};
}

PageTable table_of(std::string key, std::string title, std::string_view first) {
  PageTable table;
  table.key = std::move(key);
  table.title = std::move(title);
  table.columns = {std::string(first), "jobs",
                   "wait p50 (min)",   "wait p90 (min)",
                   "wait mean (min)",  "within 1 min (%)",
                   "within 3 min (%)", "within 10 min (%)"};
  return table;
}

void add_by_size(const StudyInput& asked, Section& section) {
  std::array<std::vector<std::int64_t>, kSizes> waits;
  std::vector<std::int64_t> every;
  for (const StudyJob& job : asked.jobs) {
    if (!job.started()) continue;
    waits[job.size].push_back(job.wait.us());
    every.push_back(job.wait.us());
  }
  const Sample all(std::move(every));
  std::array<Sample, kSizes> sizes;
  std::vector<NamedSample> samples;
  PageTable table = table_of("waiting-by-size", "By GPUs", "GPUs");
  for (std::size_t i = 0; i < kSizes; ++i) {
    sizes[i] = Sample(std::move(waits[i]));
    table.rows.push_back(row_of(kWaitSizes[i], sizes[i]));
    samples.push_back({size_label(i), &sizes[i]});
  }
  table.rows.push_back(row_of("all", all));
  section.tables.push_back(std::move(table));
  if (all.empty()) {
    section.findings.emplace_back("No job has a known start.");
    return;
  }
  const auto jobs = static_cast<double>(all.size());
  section.findings.push_back(fmt::format(
      "{} started: {} within 1 minute, {} within 3 and {} within 10. The mean wait is {}, the "
      "median is {}.",
      many(all.size(), "job"), percent(static_cast<double>(all.at_most(kMinuteUs)), jobs),
      percent(static_cast<double>(all.at_most(3 * kMinuteUs)), jobs),
      percent(static_cast<double>(all.at_most(10 * kMinuteUs)), jobs), lasting(all.mean()),
      lasting(static_cast<double>(all.percentile(50)))));
  section.plots.push_back(
      cdf_plot({"waiting-cdf", "Waiting before the first start, by size", "wait (min)"}, samples,
               kMinute, 0.1));
}

void add_by_tenant(const StudyInput& asked, Section& section) {
  const GroupNames& parties = asked.parties;
  std::vector<std::vector<std::int64_t>> waits(parties.names.size());
  for (const StudyJob& job : asked.jobs) {
    if (job.started()) waits[asked.party_of(asked.past(job))].push_back(job.wait.us());
  }
  PageTable table =
      table_of("waiting-by-tenant",
               fmt::format("By {}, the largest by GPU hours first", parties.noun), parties.noun);
  std::size_t worst = 0;
  double longest = -1;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const Sample sample(std::move(waits[i]));
    table.rows.push_back(row_of(parties.names[i], sample));
    if (i >= parties.ids.size() || sample.empty() || sample.mean() <= longest) continue;
    longest = sample.mean();
    worst = i;
  }
  section.tables.push_back(std::move(table));
  if (longest < 0 || parties.ids.size() < 2) return;
  section.findings.push_back(fmt::format("{} waited longest of the largest {}s: {} on average.",
                                         parties.names[worst], parties.noun, lasting(longest)));
}

// Waits between the end of an attempt and the start of the next one.
void add_waiting_again(const StudyInput& asked, Section& section) {
  std::vector<std::int64_t> gaps;
  for (const StudyJob& job : asked.jobs) {
    const std::span<const Attempt> attempts = asked.history.attempts_of(asked.past(job));
    for (std::size_t i = 1; i < attempts.size(); ++i) {
      const Instant from = attempts[i - 1].end;
      const Instant to = attempts[i].start;
      if (from == Instant::never() || to == Instant::never()) continue;
      if (to > from) gaps.push_back((to - from).us());
    }
  }
  const Sample again(std::move(gaps));
  if (again.empty()) {
    section.findings.emplace_back("No job is known to have waited again after its first start.");
    return;
  }
  section.findings.push_back(
      fmt::format("These figures do not include later waits, from the end of an attempt to the "
                  "next start: {}, {} in total, {} on average.",
                  many(again.size(), "wait"), lasting(static_cast<double>(again.sum())),
                  lasting(again.mean())));
}

}  // namespace

void queueing(const StudyInput& asked, Section& section) {
  if (!asked.history.knows.starts) {
    section.missing = "start times";
    return;
  }
  add_by_size(asked, section);
  if (asked.parties.known()) {
    add_by_tenant(asked, section);
  } else {
    section.missing = "tenants and users, so waiting by tenant is unknown";
  }
  if (asked.history.knows.attempts) add_waiting_again(asked, section);
  const auto unstarted = static_cast<std::size_t>(std::count_if(
      asked.jobs.begin(), asked.jobs.end(), [](const StudyJob& job) { return !job.started(); }));
  if (unstarted > 0) {
    section.findings.push_back(
        fmt::format("Omitted: {} without a known start.", many(unstarted, "job")));
  }
}

}  // namespace muster
