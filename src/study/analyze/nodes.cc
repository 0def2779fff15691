#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::size_t kEnough = 10;    // Minimum number of jobs for a mean.
constexpr std::size_t kFirstSize = 2;  // From "5-8" on: jobs that may not fit on one node.

struct Group {
  std::size_t jobs = 0;
  std::vector<std::int64_t> waits;
  std::vector<std::int64_t> runs;
};
using Groups =
    std::map<std::pair<std::size_t, std::size_t>, Group>;  // By size and number of nodes.

Groups groups_of(const StudyInput& asked) {
  Groups groups;
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    if (job.size < kFirstSize || past.attempt_count == 0) continue;
    const std::size_t nodes = asked.history.attempts_of(past).front().host_count;
    if (nodes == 0) continue;
    Group& group = groups[{job.size, nodes}];
    ++group.jobs;
    if (job.started()) group.waits.push_back(job.wait.us());
    if (past.run > Duration()) group.runs.push_back(past.run.us());
  }
  return groups;
}

struct Ends {
  std::size_t fewest = 0, most = 0;
  double fewest_wait = 0, most_wait = 0;
};

void say(std::size_t size, const Ends& ends, Section& section) {
  if (ends.fewest == 0) return;
  if (ends.fewest == ends.most) {
    section.findings.push_back(fmt::format(
        "Jobs of {} on {} waited {} on average; too few jobs ran on other numbers of nodes.",
        size_words(size), many(ends.fewest, "node"), lasting(ends.fewest_wait)));
    return;
  }
  section.findings.push_back(
      fmt::format("Jobs of {} waited {} on average if they ran on {}, and {} if they ran on {}.",
                  size_words(size), lasting(ends.fewest_wait), many(ends.fewest, "node"),
                  lasting(ends.most_wait), ends.most));
}

}  // namespace

void nodes_and_waiting(const StudyInput& asked, Section& section) {
  if (!asked.history.knows.hosts) {
    section.missing = "the nodes that jobs ran on";
    return;
  }
  PageTable table;
  table.key = "servers-and-waiting";
  table.title = "By the number of nodes of the first attempt";
  table.columns = {"GPUs",           "servers",        "jobs",
                   "wait p50 (min)", "wait p90 (min)", "wait mean (min)",
                   "run p50 (min)",  "run p90 (min)",  "run mean (min)"};
  Plot plot;
  plot.key = "servers-and-waiting-plot";
  plot.title = "Median wait by number of nodes";
  plot.x_label = "nodes";
  plot.y_label = "wait p50 (min)";
  std::array<Ends, kSizes> ends;
  std::array<Series, kSizes> lines;
  for (const auto& [key, group] : groups_of(asked)) {
    const auto& [size, nodes] = key;
    const Sample waits(group.waits);
    const Sample runs(group.runs);
    table.rows.push_back({std::string(kWaitSizes[size]), count_cell(nodes), count_cell(group.jobs),
                          percentile_cell(waits, 50), percentile_cell(waits, 90), mean_cell(waits),
                          percentile_cell(runs, 50), percentile_cell(runs, 90), mean_cell(runs)});
    if (waits.empty()) continue;
    lines[size].x.push_back(static_cast<double>(nodes));
    lines[size].y.push_back(static_cast<double>(waits.percentile(50)) / kMinute);
    if (waits.size() < kEnough) continue;
    if (ends[size].fewest == 0) {
      ends[size].fewest = nodes;
      ends[size].fewest_wait = waits.mean();
    }
    ends[size].most = nodes;
    ends[size].most_wait = waits.mean();
  }
  for (std::size_t i = kFirstSize; i < kSizes; ++i) {
    say(i, ends[i], section);
    if (lines[i].x.empty()) continue;
    lines[i].name = size_label(i);
    plot.series.push_back(std::move(lines[i]));
  }
  if (table.rows.empty()) {
    section.findings.emplace_back("No job of more than 4 GPUs is known to have run.");
  } else if (section.findings.empty()) {
    section.findings.emplace_back("Too few jobs ran on each number of nodes for a mean.");
  }
  section.tables.push_back(std::move(table));
  if (!plot.series.empty()) section.plots.push_back(std::move(plot));
  if (!asked.history.knows.starts) section.missing = "start times, so waits are unknown";
}

}  // namespace muster
