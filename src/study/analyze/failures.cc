#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "base/types/saturate.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::size_t kUntold = kReasonCount;  // The row of failures without a reason.

struct Row {
  std::size_t reason = 0;  // A Reason, or kUntold.
  std::int64_t trials = 0;
  std::size_t jobs = 0;
  std::optional<std::uint32_t> last_job;
  std::vector<std::uint32_t> users;  // Unique after close().
  std::vector<std::int64_t> times;   // Times to failure, if known.
  Sample to_failure;
  std::int64_t gpu_us = 0;
  std::array<std::int64_t, kSizeClassCount> by_size = {};

  void add(const StudyJob& job, const PastJob& past, std::int64_t count,
           std::optional<Duration> time) {
    trials += count;
    if (last_job != job.index) {
      ++jobs;
      users.push_back(past.user);
    }
    last_job = job.index;
    by_size[static_cast<std::size_t>(size_class(past.gpus))] += count;
    if (!time) return;
    times.push_back(time->us());
    gpu_us = saturating_add(gpu_us, gpu_time(*time, past.gpus));
  }

  void close() {
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
    to_failure = Sample(std::move(times));
  }
};

struct Rows {
  std::array<Row, kReasonCount + 1> by_reason;
  Row all;
};

Rows rows_of(const StudyInput& asked) {
  const History& history = asked.history;
  Rows rows;
  for (std::size_t i = 0; i < rows.by_reason.size(); ++i) rows.by_reason[i].reason = i;
  const auto add = [&](const StudyJob& job, std::size_t reason, std::int64_t count,
                       std::optional<Duration> time) {
    rows.by_reason[reason].add(job, asked.past(job), count, time);
    rows.all.add(job, asked.past(job), count, time);
  };
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    std::int64_t told = 0;
    for (const FailedRun& failed : failed_runs(history, past)) {
      ++told;
      const std::size_t reason =
          failed.attempt->reason ? static_cast<std::size_t>(*failed.attempt->reason) : kUntold;
      // A single attempt that represents all of them does not give the run time of the last one.
      add(job, reason, 1, history.knows.attempts ? failed.run : std::nullopt);
    }
    if (past.failures > told) add(job, kUntold, past.failures - told, std::nullopt);
  }
  for (Row& row : rows.by_reason) row.close();
  rows.all.close();
  return rows;
}

std::string buckets_of(std::size_t reason) {
  if (reason == kUntold) return "";
  const std::array<Bucket, 2> buckets = reasons()[reason].buckets;
  if (buckets[0] == buckets[1]) return std::string(name_of(buckets[0]));
  return fmt::format("{}, {}", name_of(buckets[0]), name_of(buckets[1]));
}

std::string name_of_row(std::size_t reason) {
  return reason == kUntold ? "Unknown" : std::string(reasons()[reason].name);
}

std::vector<Cell> cells_of(std::string name, std::string bucket, const Row& row, const Row& all,
                           bool users_known) {
  const auto trials = static_cast<double>(row.trials);
  const auto users = static_cast<double>(row.users.size());
  return {std::move(name),
          std::move(bucket),
          row.trials,
          count_cell(row.jobs),
          users_known ? count_cell(row.users.size()) : Cell(),
          percentile_cell(row.to_failure, 50),
          percentile_cell(row.to_failure, 90),
          percentile_cell(row.to_failure, 95),
          share_cell(static_cast<double>(row.to_failure.sum()),
                     static_cast<double>(all.to_failure.sum())),
          share_cell(static_cast<double>(row.gpu_us), static_cast<double>(all.gpu_us)),
          row.by_size[0],
          row.by_size[1],
          row.by_size[2],
          ratio_cell(trials, static_cast<double>(row.jobs)),
          users_known ? ratio_cell(trials, users) : Cell()};
}

// Most trials first. Rows without trials are omitted.
std::vector<const Row*> in_order(const Rows& rows) {
  std::vector<const Row*> order;
  for (const Row& row : rows.by_reason) {
    if (row.trials > 0) order.push_back(&row);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Row* a, const Row* b) { return a->trials > b->trials; });
  return order;
}

Plot plot_of(const Rows& rows) {
  std::vector<ShareRow> shares;
  for (const Row* row : in_order(rows)) {
    shares.push_back({name_of_row(row->reason), row->trials, row->gpu_us});
  }
  return share_bars("failures-plot", "Reasons by failed attempts and by their GPU time",
                    "failed attempts", shares, {"", rows.all.trials, rows.all.gpu_us},
                    rows.all.gpu_us > 0);
}

PageTable table_of(const StudyInput& asked, const Rows& rows) {
  PageTable table;
  table.key = "failures";
  table.columns = {"reason",
                   "bucket",
                   "trials",
                   "jobs",
                   "users",
                   "time to failure p50 (min)",
                   "p90 (min)",
                   "p95 (min)",
                   "of all time to failure (%)",
                   "of its GPU time (%)",
                   "on 1 GPU",
                   "on 2-4 GPUs",
                   "on >4 GPUs",
                   "trials a job",
                   "trials a user"};
  const bool users = asked.history.knows.users;
  for (const Row* row : in_order(rows)) {
    table.rows.push_back(
        cells_of(name_of_row(row->reason), buckets_of(row->reason), *row, rows.all, users));
  }
  table.rows.push_back(cells_of("all", "", rows.all, rows.all, users));
  return table;
}

PageTable bucket_table(const Rows& rows) {
  struct Sum {
    std::int64_t trials = 0;
    std::int64_t gpu_us = 0;
  };
  std::map<std::string, Sum> sums;
  for (const Row* row : in_order(rows)) {
    Sum& sum = sums[row->reason == kUntold ? "unknown" : buckets_of(row->reason)];
    sum.trials += row->trials;
    sum.gpu_us = saturating_add(sum.gpu_us, row->gpu_us);
  }
  PageTable table;
  table.key = "failure-buckets";
  table.title = "Groups of reasons";
  table.columns = {"bucket", "trials", "of all trials (%)", "of their GPU time (%)"};
  for (const auto& [name, sum] : sums) {
    table.rows.push_back(
        {name, sum.trials,
         share_cell(static_cast<double>(sum.trials), static_cast<double>(rows.all.trials)),
         share_cell(static_cast<double>(sum.gpu_us), static_cast<double>(rows.all.gpu_us))});
  }
  return table;
}

const Row& commonest(const Rows& rows) {
  const auto told_end = rows.by_reason.begin() + kUntold;
  return *std::max_element(rows.by_reason.begin(), told_end,
                           [](const Row& a, const Row& b) { return a.trials < b.trials; });
}

void say(const StudyInput& asked, const Rows& rows, Section& section) {
  const Row& all = rows.all;
  if (all.trials == 0) {
    section.findings.emplace_back("No attempt is known to have failed.");
    return;
  }
  const bool users = asked.history.knows.users;
  section.findings.push_back(fmt::format(
      "{} of {}{} failed: {:.2f} per job with a failure{}.",
      many(static_cast<std::size_t>(all.trials), "attempt"), many(all.jobs, "job"),
      users ? " of " + many(all.users.size(), "user") : "",
      static_cast<double>(all.trials) / static_cast<double>(all.jobs),
      users ? fmt::format(", {:.1f} per user",
                          static_cast<double>(all.trials) / static_cast<double>(all.users.size()))
            : ""));
  const Row& first = commonest(rows);
  if (first.trials == 0) return;
  section.findings.push_back(
      fmt::format("The most common reason is \"{}\", with {} of the failed attempts.",
                  name_of_row(first.reason),
                  percent(static_cast<double>(first.trials), static_cast<double>(all.trials))));
}

std::string lacks(const StudyInput& asked, const Rows& rows) {
  const Knows& knows = asked.history.knows;
  std::vector<std::string> lacks;
  const Row& untold = rows.by_reason[kUntold];
  if (!knows.reasons) {
    lacks.emplace_back("the reasons of failed attempts");
  } else if (!knows.attempts) {
    lacks.emplace_back("the reasons of all failures except the last one of a failed job");
  } else if (untold.trials > 0) {
    lacks.push_back(fmt::format("the reasons of {}",
                                many(static_cast<std::size_t>(untold.trials), "failed attempt")));
  }
  const std::int64_t untimed =
      rows.all.trials - static_cast<std::int64_t>(rows.all.to_failure.size());
  if (untimed > 0) {
    lacks.push_back(fmt::format("the run times of {}",
                                many(static_cast<std::size_t>(untimed), "failed attempt")));
  }
  if (!knows.users) lacks.emplace_back("users");
  return listed(lacks);
}

}  // namespace

void failure_table(const StudyInput& asked, Section& section) {
  const Knows& knows = asked.history.knows;
  if (!knows.failures && !knows.reasons) {
    section.missing = "failed attempts and their reasons";
    return;
  }
  const Rows rows = rows_of(asked);
  section.tables.push_back(table_of(asked, rows));
  section.tables.push_back(bucket_table(rows));
  if (rows.all.trials > 0) section.plots.push_back(plot_of(rows));
  say(asked, rows, section);
  section.missing = lacks(asked, rows);
}

}  // namespace muster
