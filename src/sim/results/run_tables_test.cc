#include "sim/results/run_tables.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "base/text/wording.h"

namespace muster {
namespace {

RunRow run(std::string policy, std::string mechanism, std::int64_t mean_s) {
  RunRow row;
  row.label.policy = std::move(policy);
  row.label.mechanism = std::move(mechanism);
  row.label.placement = "consolidate";
  row.label.estimates = "oracle";
  row.label.trace = "philly.csv";
  row.label.cluster = "16x8";
  row.label.round = Duration::seconds(300);
  row.label.seed = 1;
  Summary& s = row.summary;
  s.jobs = 1200;
  s.finished = 1200;
  s.jct = {Duration::seconds(mean_s), Duration::seconds(90), Duration::seconds(mean_s * 2),
           Duration::seconds(mean_s * 3)};
  s.wait = {Duration::seconds(30), Duration::seconds(10), Duration::seconds(40),
            Duration::seconds(50)};
  s.makespan = Duration::seconds(10 * 86400);
  s.gpu_time = Duration::seconds(36'000);
  s.gpu_utilization = 0.7654;
  s.preemptions = 1234;
  s.events = 82'247;
  s.decisions = 999;
  s.wall = Duration::micros(250'000);
  s.digest = "00000000deadbeef";
  return row;
}

TEST(ComparisonTable, ShowsTheGainOverTheFirstRunOfAPolicy) {
  const std::vector<RunRow> rows = {run("fifo", "greedy", 7000), run("fifo", "tune", 3500),
                                    run("srtf", "greedy", 3000), run("srtf", "tune", 2500)};
  EXPECT_EQ("\n" + comparison_table(rows), R"(
policy  mechanism   mean JCT      p50     p99     wait  makespan  GPU use  preempt   finished   gain
------  ---------  ---------  -------  ------  -------  --------  -------  -------  ---------  -----
fifo    greedy     116.7 min  90.00 s  5.83 h  30.00 s   240.0 h    76.5%    1,234  1200/1200      —
fifo    tune        58.3 min  90.00 s  2.92 h  30.00 s   240.0 h    76.5%    1,234  1200/1200  2.00x
srtf    greedy      50.0 min  90.00 s  2.50 h  30.00 s   240.0 h    76.5%    1,234  1200/1200      —
srtf    tune        41.7 min  90.00 s  2.08 h  30.00 s   240.0 h    76.5%    1,234  1200/1200  1.20x
)");
}

TEST(ComparisonTable, ShowsTheGainOverTheFirstPolicyIfNoneHasTwoRuns) {
  std::vector<RunRow> rows = {run("fifo", "tune", 7000), run("srtf", "tune", 3500)};
  EXPECT_TRUE(compares_policies(rows));
  EXPECT_NE(comparison_table(rows).find("  2.00x\n"), std::string::npos) << comparison_table(rows);
  rows.push_back(run("fifo", "greedy", 7000));
  EXPECT_FALSE(compares_policies(rows));
  EXPECT_EQ(comparison_table(rows).find("  2.00x\n"), std::string::npos);
}

TEST(ComparisonTable, ShowsOnlyWhatDiffers) {
  std::vector<RunRow> rows = {run("fifo", "tune", 100), run("fifo", "tune", 50)};
  EXPECT_EQ(comparison_table(rows).find("placement"), std::string::npos);
  rows[1].label.placement = "scatter";
  rows[1].label.round = Duration();
  const std::string text = comparison_table(rows);
  EXPECT_TRUE(text.starts_with("policy  mechanism  placement        round  mean JCT")) << text;
  EXPECT_NE(text.find("fifo    tune       scatter      at events    50.0 s"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  2.00x\n"), std::string::npos) << text;
}

TEST(ComparisonTable, ComparesOnlyRunsOfTheSameWorkload) {
  std::vector<RunRow> rows = {run("fifo", "tune", 100), run("fifo", "tune", 50)};
  rows[1].label.trace = "helios.csv";
  EXPECT_EQ(comparison_table(rows).find("2.00x"), std::string::npos);
}

TEST(ComparisonTable, MarksWhatFinishedNothingOrWasInterrupted) {
  std::vector<RunRow> rows = {run("fifo", "tune", 100), run("fifo", "opt", 50)};
  rows[1].summary = Summary();
  rows[1].summary.jobs = 10;
  rows[1].summary.partial = true;
  EXPECT_EQ("\n" + comparison_table(rows), R"(
policy  mechanism  mean JCT      p50       p99     wait  makespan  GPU use  preempt   finished  gain
------  ---------  --------  -------  --------  -------  --------  -------  -------  ---------  ----
fifo    tune        100.0 s  90.00 s  5.00 min  30.00 s   240.0 h    76.5%    1,234  1200/1200     —
fifo    opt             n/a      n/a       n/a      n/a       n/a     0.0%        0      0/10*   n/a
* interrupted: includes only jobs that had finished by then
)");
}

TEST(ComparisonTable, OfNothingIsJustAHeader) {
  EXPECT_TRUE(comparison_table({}).starts_with("policy  mechanism  mean JCT"));
}

TEST(SummaryText, SaysItAll) {
  RunRow row = run("srtf", "tune", 7000);
  row.summary.finished = 1190;
  row.summary.rejected = 4;
  row.summary.unfinished = 6;
  row.summary.first_rejection = "wants 999 GPUs";
  EXPECT_EQ("\n" + summary_text(row.summary, row.label), R"(
policy       srtf
mechanism    tune
placement    consolidate
estimates    oracle
planned      every 5.00 min
trace        philly.csv
cluster      16x8
seed         1
jobs         1,190 of 1,200 finished, 6 unfinished, 4 rejected
rejected     first reason: wants 999 GPUs
JCT          mean 116.7 min, median 90.0 s, p95 3.89 h, p99 5.83 h
waiting      mean 30.0 s, median 10.0 s, p95 40.0 s, p99 50.0 s
makespan     10.0 d
GPUs         10.0 GPU hours, 76.5% in use
preemptions  1,234
migrations   0
computed     82,247 events, 999 decisions in 0.25 s
digest       00000000deadbeef
)");
}

TEST(SummaryText, SaysWhenNothingFinished) {
  Summary summary;
  summary.jobs = 3;
  summary.unfinished = 3;
  summary.partial = true;
  summary.window = Window{0, 3};
  EXPECT_EQ("\n" + summary_text(summary, RunLabel()), R"(
policy
mechanism
placement
estimates
planned      at every event
trace
cluster
seed         0
partial      interrupted: includes only jobs that had finished by then
window       jobs [0, 3) in order of arrival
jobs         0 of 3 finished, 3 unfinished
JCT          none: no job finished
waiting      none: no job finished
makespan     none: no job finished
GPUs         0.0 GPU hours, 0.0% in use
preemptions  0
migrations   0
computed     0 events, 0 decisions in 0.00 s
digest
)");
}

}  // namespace
}  // namespace muster
