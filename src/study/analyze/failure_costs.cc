#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/types/saturate.h"
#include "study/analyze/figures.h"
#include "study/analyze/input_blacklist.h"
#include "study/analyze/replay.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

struct Cost {
  std::int64_t lost_gpu_us = 0;
  std::int64_t gpu_us = 0;  // GPU time of all jobs.
  std::int64_t failures = 0;
  Replayed again;
};

void add_losses(const std::array<Cost, kSizes>& sizes, const Cost& all, Section& section) {
  PageTable table;
  table.key = "failure-losses";
  table.title = "GPU hours lost to failures";
  table.columns = {"GPUs", "lost (GPU hours)", "of all GPU hours (%)", "of all lost (%)"};
  const auto add_row = [&](std::string_view name, const Cost& of) {
    const auto lost = static_cast<double>(of.lost_gpu_us);
    table.rows.push_back({std::string(name), time_cell(lost, kHour),
                          share_cell(lost, static_cast<double>(of.gpu_us)),
                          share_cell(lost, static_cast<double>(all.lost_gpu_us))});
  };
  for (std::size_t i = 0; i < kSizes; ++i) add_row(kWaitSizes[i], sizes[i]);
  add_row("all", all);
  section.tables.push_back(std::move(table));
}

void say_losses(const StudyInput& asked, const Cost& all, Section& section) {
  section.findings.push_back(
      fmt::format("{} cost {}, {} of all GPU time{}.",
                  asked.history.knows.lost ? "Failures and node outages" : "Failures",
                  gpu_hours(all.lost_gpu_us),
                  percent(static_cast<double>(all.lost_gpu_us), static_cast<double>(all.gpu_us)),
                  asked.history.knows.lost
                      ? ", by the work that was lost"
                      : ": all the time of failed attempts, as if no work had been saved"));
}

void add_savings(const StudyInput& asked, const Replayed& again, bool lists_inputs,
                 Section& section) {
  PageTable table;
  table.key = "failure-savings";
  table.title = "Possible savings";
  table.columns = {"measure",          "failed attempts spared",          "of them (%)",
                   "GPU hours spared", "of those in failed attempts (%)", "GPU hours it takes"};
  const auto add_row = [&](std::string name, const Savings& saved, std::int64_t takes) {
    const auto time = static_cast<double>(saved.gpu_us);
    table.rows.push_back(
        {std::move(name), saved.attempts,
         share_cell(static_cast<double>(saved.attempts), static_cast<double>(again.failed)),
         time_cell(time, kHour), share_cell(time, static_cast<double>(again.lost_gpu_us)),
         time_cell(static_cast<double>(takes), kHour)});
  };
  const PreRunOptions& options = asked.options.pre_run;
  const std::string limit = lasting(static_cast<double>(options.limit.us()));
  add_row("pre-run of " + limit, again.pre_run, again.pre_run_gpu_us);
  add_row(asked.options.retry.text() + " retry", again.retry, 0);
  if (lists_inputs) add_row("blacklist of inputs", again.blacklist, 0);
  add_row("all together", again.together, again.pre_run_gpu_us);
  section.tables.push_back(std::move(table));
  if (again.failed == 0) return;
  const auto lost = static_cast<double>(again.lost_gpu_us);
  section.findings.push_back(fmt::format(
      "A pre-run of {} on one GPU, for jobs of {} GPUs or more, would have avoided {} of the "
      "failed attempts and {} of their GPU time, at a cost of {}. Assumption: a fault that no "
      "retry can fix, and that appears on one GPU, appears in the pre-run at the same time, and is "
      "fixed before the next attempt. A job that fails in every attempt for the same reason has "
      "such a fault.",
      limit, options.least_gpus,
      percent(static_cast<double>(again.pre_run.attempts), static_cast<double>(again.failed)),
      percent(static_cast<double>(again.pre_run.gpu_us), lost), gpu_hours(again.pre_run_gpu_us)));
  section.findings.push_back(fmt::format(
      "The retry policy '{}' would have avoided {} of the failed attempts and {} of their GPU time "
      "({} in total, including saved work).",
      asked.options.retry.text(),
      percent(static_cast<double>(again.retry.attempts), static_cast<double>(again.failed)),
      percent(static_cast<double>(again.retry.gpu_us), lost), gpu_hours(again.lost_gpu_us)));
  if (lists_inputs) {
    section.findings.push_back(fmt::format(
        "A blacklist would have avoided {} of the failed attempts and {} of their GPU time: it "
        "gives "
        "a job no retries after the last two jobs of its user and name failed for the same reason "
        "by "
        "their own fault.",
        percent(static_cast<double>(again.blacklist.attempts), static_cast<double>(again.failed)),
        percent(static_cast<double>(again.blacklist.gpu_us), lost)));
  }
  section.findings.push_back(
      fmt::format("All measures together would have avoided {} of the GPU time. They would have "
                  "given up {} that "
                  "passed in the end.",
                  percent(static_cast<double>(again.together.gpu_us), lost),
                  many(static_cast<std::size_t>(again.given_up), "job")));
}

// Which faults of large jobs a pre-run finds.
void add_caught(const StudyInput& asked, const Replayed& again, Section& section) {
  PageTable table;
  table.key = "pre-run-catches";
  table.title = fmt::format("Jobs of {} GPUs or more by first failure, and what the pre-run finds",
                            asked.options.pre_run.least_gpus);
  table.columns = {"first failure", "jobs", "found by the pre-run", "of them (%)"};
  const auto add_row = [&](std::string name, const Replayed::Caught& of) {
    table.rows.push_back(
        {std::move(name), of.jobs, of.caught,
         share_cell(static_cast<double>(of.caught), static_cast<double>(of.jobs))});
  };
  add_row("user error that no retry fixes", again.user_errors);
  add_row("other", again.other_errors);
  section.tables.push_back(std::move(table));
}

}  // namespace

void failure_costs(const StudyInput& asked, Section& section) {
  const Knows& knows = asked.history.knows;
  if (!knows.lost && !(knows.attempts && knows.failures)) {
    section.missing = "failed attempts with their run times, or the lost GPU time";
    return;
  }
  std::array<Cost, kSizes> sizes;
  Cost all;
  const std::vector<std::size_t> listed = blacklist_stops(asked);
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    const Replayed again = replay(asked, past, listed.empty() ? kNoStop : listed[job.index]);
    const std::int64_t lost = knows.lost ? past.lost_gpu_us : again.lost_gpu_us;
    for (Cost* cost : {&sizes[job.size], &all}) {
      cost->lost_gpu_us = saturating_add(cost->lost_gpu_us, lost);
      cost->gpu_us = saturating_add(cost->gpu_us, job.gpu_us);
      cost->failures += std::max<std::int64_t>(past.failures, again.failed);
      cost->again.add(again);
    }
  }
  std::vector<std::string> lacks;
  const auto lack = [&](std::string_view what, std::int64_t count, std::string_view so) {
    const auto attempts = static_cast<std::size_t>(count);
    if (count > 0)
      lacks.push_back(fmt::format("{} {}{}", what, many(attempts, "failed attempt"), so));
  };
  const std::int64_t untimed = knows.lost ? 0 : all.failures - all.again.timed;
  lack("the run time of", untimed, ", counted as zero here");
  if (untimed == 0 || all.again.timed > 0) {
    say_losses(asked, all, section);
    add_losses(sizes, all, section);
  }
  const bool all_told = all.again.told == all.failures;
  if (knows.attempts && knows.reasons && (all_told || all.again.told > 0)) {
    lack("the reasons of", all.failures - all.again.told, ", counted as not avoidable here");
    if (listed.empty()) {
      lacks.emplace_back(
          "names of jobs with the times of their failures, so the savings by a "
          "blacklist are unknown");
    }
    add_savings(asked, all.again, !listed.empty(), section);
    add_caught(asked, all.again, section);
  } else {
    lacks.push_back(
        std::string(knows.attempts ? "the reasons of failed attempts" : "all attempts of a job") +
        ", so the savings by a pre-run, adaptive retry and a blacklist are unknown");
  }
  section.missing = fmt::format("{}", fmt::join(lacks, "; "));
}

}  // namespace muster
