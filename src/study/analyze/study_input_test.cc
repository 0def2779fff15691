#include "study/analyze/study_input.h"

#include <gtest/gtest.h>

#include "study/analyze/figures.h"
#include "study/analyze/testing.h"

namespace muster {
namespace {

TEST(Ask, GpusInUseSecondBySecond) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const History history = random_history(seed, 30);
    const StudyOptions options;
    const StudyInput asked = ask(history, nullptr, options);
    for (std::int64_t s = 0; s < 3000; s += 7) {
      std::int64_t used = 0;
      for (const PastJob& job : history.jobs) {
        for (const Attempt& attempt : history.attempts_of(job)) {
          if (attempt.start <= second(s) && second(s) < attempt.end) used += job.gpus;
        }
      }
      EXPECT_EQ(level_at(asked.in_use, second(s)), used) << seed << " at " << s;
    }
    EXPECT_EQ(asked.gpus, 48);
  }
}

TEST(Ask, WaitIsUntilTheFirstStart) {
  History history;
  history.knows = all_known();
  add_job(history, 10, 2);
  add_attempt(history, 15, 20, true);
  add_attempt(history, 100, 200);
  const StudyOptions options;
  const StudyInput asked = ask(history, nullptr, options);
  ASSERT_EQ(asked.jobs.size(), 1u);
  EXPECT_EQ(asked.jobs[0].wait, Duration::seconds(5));
  EXPECT_EQ(asked.jobs[0].gpu_us, 2 * 105'000'000);
  EXPECT_EQ(asked.first, second(10));
  EXPECT_EQ(asked.last, second(200));
}

TEST(Ask, HostsTellGpusOfAnAttempt) {
  History history;
  history.knows = all_known();
  add_job(history, 0, 2);
  add_attempt(history, 0, 10).host_count = 2;
  history.hosts = {{0, 0b1010}, {1, 0b1}};
  const StudyOptions options;
  EXPECT_EQ(peak_of(ask(history, nullptr, options).in_use), 3);
}

TEST(Ask, WhoHasNotEndedHoldsUntilTheLastMoment) {
  History history;
  history.knows = all_known();
  add_job(history, 0, 2);
  add_attempt(history, 0, 10).end = Instant::never();
  add_job(history, 50, 1);
  const StudyOptions options;
  const StudyInput asked = ask(history, nullptr, options);
  ASSERT_EQ(asked.holds.size(), 1u);
  EXPECT_EQ(asked.holds[0].end, second(50));
}

TEST(Ask, TheLargestTenByGpuTimeAndOthers) {
  History history;
  history.knows.tenants = history.knows.runs = true;
  for (int i = 0; i < 12; ++i) {
    add_job(history, i, 1, "t" + std::to_string(i)).run = Duration::seconds(i == 3 ? 99 : 20 - i);
  }
  const StudyOptions options;
  const StudyInput asked = ask(history, nullptr, options);
  ASSERT_EQ(asked.parties.names.size(), 11u);
  EXPECT_EQ(asked.parties.names.front(), "t3");
  EXPECT_EQ(asked.parties.names[1], "t0");
  EXPECT_EQ(asked.parties.names.back(), "others");
  EXPECT_EQ(asked.party_of(history.jobs[11]), 10u);
  EXPECT_EQ(asked.parties.noun, "tenant");
}

TEST(Sample, PercentilesAsTheSummaryHasThem) {
  const Sample sample({5, 1, 3, 2});
  EXPECT_EQ(sample.percentile(50), 3);  // 2.5, half up.
  EXPECT_EQ(sample.percentile(90), 5);
  EXPECT_EQ(sample.percentile(10), 1);
  EXPECT_EQ(sample.percentile(99), 5);
  EXPECT_EQ(sample.mean(), 2.75);
  EXPECT_EQ(sample.at_most(3), 3u);
  EXPECT_EQ(sample.at_most(0), 0u);
  EXPECT_EQ(Sample({7}).percentile(50), 7);
}

TEST(CdfPlot, HasFewPointsAndEndsAtAll) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 1000; ++i) values.push_back(i * 1'000'000);
  const Sample sample(values);
  const Plot plot = cdf_plot({"k", "t", "x"}, {{"n", &sample}}, 1e6, 1);
  ASSERT_EQ(plot.series.size(), 1u);
  const Series& series = plot.series[0];
  EXPECT_LE(series.x.size(), kMaxCdfPoints);
  EXPECT_EQ(series.y.back(), 100);
  EXPECT_FALSE(plot.thinned.empty());
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const auto upto = sample.at_most(static_cast<std::int64_t>(series.x[i] * 1e6));
    EXPECT_DOUBLE_EQ(series.y[i], static_cast<double>(upto) / 10);
  }
}

TEST(StepsSeries, MeansOfWindowsKeepTheIntegral) {
  std::vector<Step> steps;
  double area = 0;
  for (std::int64_t i = 0; i < 5000; ++i) {
    steps.push_back({second(10 + 3 * i), (i * 7) % 13});
    area += 3.0 * static_cast<double>((i * 7) % 13);
  }
  std::string thinned;
  const Series series = steps_series("s", steps, second(0), second(10 + 3 * 5000), thinned);
  EXPECT_LE(series.x.size(), kMaxStepPoints);
  EXPECT_FALSE(thinned.empty());
  double sum = 0;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const double end = i + 1 < series.x.size() ? series.x[i + 1] : 10 + 3.0 * 5000;
    sum += (end - series.x[i]) * series.y[i];
  }
  EXPECT_NEAR(sum, area, 1e-6 * area);
}

TEST(DateText, IsUtc) {
  EXPECT_EQ(date_text(second(1'507'557'753)), "2017-10-09 14:02 UTC");
  EXPECT_EQ(date_text(second(0)), "1970-01-01 00:00 UTC");
}

// If the GPU indices are known, shared GPUs count once.
TEST(Ask, SharedGpusAreInUseOnce) {
  History history;
  history.knows.starts = history.knows.attempts = history.knows.hosts = history.knows.slots = true;
  history.nodes.push_back({"s", 4, 0, 0});
  for (const std::int64_t begin : {0, 10}) {
    add_job(history, 0, 2);
    Attempt& attempt = add_attempt(history, begin, begin + 20);
    attempt.hosts = static_cast<std::uint32_t>(history.hosts.size());
    attempt.host_count = 1;
    history.hosts.push_back({0, begin == 0 ? 0b011U : 0b110U});
  }
  const StudyOptions options;
  const StudyInput asked = ask(history, nullptr, options);
  EXPECT_EQ(level_at(asked.in_use, second(5)), 2);
  EXPECT_EQ(level_at(asked.in_use, second(15)), 3);
  EXPECT_EQ(level_at(asked.in_use, second(25)), 2);
  EXPECT_EQ(asked.gpus, 4);
  history.gpus = 16;
  EXPECT_EQ(ask(history, nullptr, options).gpus, 16);
}

// A stopped job continues its attempt.
TEST(Ask, AFailedRunIsOfAllItsLeases) {
  History history;
  history.knows.starts = history.knows.attempts = true;
  add_job(history, 0, 2);
  add_attempt(history, 0, 10);
  add_attempt(history, 20, 25, true, Reason::kCoreDump).resumed = true;
  add_attempt(history, 30, 33, true, Reason::kCoreDump);
  const std::vector<FailedRun> failed = failed_runs(history, history.jobs[0]);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].run, Duration::seconds(15));
  EXPECT_EQ(failed[1].run, Duration::seconds(3));
}

}  // namespace
}  // namespace muster
