// The sections about time: arrivals, running, waiting, overtaking, servers.

#include <gtest/gtest.h>

#include <map>

#include "study/analyze/page_testing.h"
#include "study/analyze/testing.h"

namespace muster {
namespace {

constexpr double kMinuteS = 60;

// The least value that more than a part p of all do not exceed; the median is between the middle
// two.
double naive_percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const auto all = static_cast<double>(values.size());
  if (p == 0.5) return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  for (const double value : values) {
    const auto upto =
        std::count_if(values.begin(), values.end(), [&](double other) { return other <= value; });
    if (static_cast<double>(upto) > p * all + 1e-9) return value;
  }
  return values.back();
}

double naive_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double naive_share(const std::vector<double>& values, double limit) {
  const auto upto =
      std::count_if(values.begin(), values.end(), [&](double value) { return value <= limit; });
  return 100 * static_cast<double>(upto) / static_cast<double>(values.size());
}

std::string wait_size_name(std::int32_t gpus) {
  return gpus == 1 ? "1" : gpus < 5 ? "2-4" : gpus < 9 ? "5-8" : ">8";
}

double wait_s(const History& history, const PastJob& job) {
  return (history.attempts_of(job)[0].start - job.submit).in_seconds();
}

TEST(Queueing, AsCountedNaively) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const History history = random_history(seed, 80);
    const Page page = study(history, nullptr, StudyOptions());
    expect_sound(page);
    std::map<std::string, std::vector<double>> sizes;
    std::map<std::string, std::vector<double>> tenants;
    for (const PastJob& job : history.jobs) {
      if (job.gpus == 0 || job.attempt_count == 0) continue;
      const double minutes = wait_s(history, job) / kMinuteS;
      sizes[wait_size_name(job.gpus)].push_back(minutes);
      sizes["all"].push_back(minutes);
      tenants[history.tenants[job.tenant]].push_back(minutes);
    }
    const auto expect = [&](const char* key, const auto& groups) {
      for (const auto& [name, waits] : groups) {
        const std::string& row = name;
        const auto at = [&](const char* column) { return value_at(page, key, row, column); };
        EXPECT_EQ(at("jobs"), static_cast<double>(waits.size()));
        EXPECT_NEAR(at("wait p50 (min)"), naive_percentile(waits, 0.5), 1e-7);
        EXPECT_NEAR(at("wait p90 (min)"), naive_percentile(waits, 0.9), 1e-7);
        EXPECT_NEAR(at("wait mean (min)"), naive_mean(waits), 1e-7);
        EXPECT_NEAR(at("within 1 min (%)"), naive_share(waits, 1), 1e-7);
        EXPECT_NEAR(at("within 3 min (%)"), naive_share(waits, 3), 1e-7);
        EXPECT_NEAR(at("within 10 min (%)"), naive_share(waits, 10), 1e-7);
      }
    };
    expect("waiting-by-size", sizes);
    expect("waiting-by-tenant", tenants);
  }
}

TEST(Queueing, WaitingAgainIsToldApart) {
  History history;
  history.knows = all_known();
  add_job(history, 0, 1);
  add_attempt(history, 10, 20, true);
  add_attempt(history, 50, 60, true);
  add_attempt(history, 70, 90);
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_NEAR(value_at(page, "waiting-by-size", "1", "wait mean (min)"), 1 / 6.0, 1e-9);
  EXPECT_EQ(
      section_of(page, "queueing").findings[1],
      "These figures do not include later waits, from the end of an attempt to the next start: "
      "2 waits, 40.0 s in total, 20.0 s on average.");
}

TEST(RunTimes, AsCountedNaively) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    History history = random_history(seed, 80);
    history.jobs[10].gpus = 8;
    history.jobs[10].run = Duration::seconds(8 * 24 * 3600);
    const Page page = study(history, nullptr, StudyOptions());
    std::map<std::string, std::vector<double>> sizes;
    std::map<std::string, double> gpu_hours;
    for (const PastJob& job : history.jobs) {
      if (job.gpus == 0 || job.run == Duration()) continue;
      for (const std::string& name : {wait_size_name(job.gpus), std::string("all")}) {
        sizes[name].push_back(job.run.in_seconds() / kMinuteS);
        gpu_hours[name] += job.run.in_hours() * job.gpus;
      }
    }
    for (const auto& [name, runs] : sizes) {
      const std::string& row = name;
      const auto at = [&](const char* column) { return value_at(page, "run-times", row, column); };
      EXPECT_EQ(at("jobs"), static_cast<double>(runs.size()));
      EXPECT_NEAR(at("run p10 (min)"), naive_percentile(runs, 0.1), 1e-7);
      EXPECT_NEAR(at("run p50 (min)"), naive_percentile(runs, 0.5), 1e-7);
      EXPECT_NEAR(at("run p90 (min)"), naive_percentile(runs, 0.9), 1e-7);
      EXPECT_NEAR(at("run p99 (min)"), naive_percentile(runs, 0.99), 1e-7);
      EXPECT_NEAR(at("mean (min)"), naive_mean(runs), 1e-6);
      EXPECT_NEAR(at("over a week (%)"), 100 - naive_share(runs, 7 * 24 * 60), 1e-7);
      EXPECT_NEAR(at("GPU hours"), gpu_hours[name], 1e-6);
      EXPECT_NEAR(at("GPU hours (%)"), 100 * gpu_hours[name] / gpu_hours["all"], 1e-7);
    }
  }
}

TEST(Overview, ArrivalsByHourAndDay) {
  History history;
  // 1970-01-01 was a Thursday; 2017-10-09, 14:02 UTC a Monday.
  add_job(history, 3600, 1);
  add_job(history, 1'507'557'753, 1);
  history.knows.dates = true;
  for (const bool dates : {true, false}) {
    history.knows.dates = dates;
    const Section section = study(history, nullptr, StudyOptions()).sections[0];
    ASSERT_GE(section.plots.size(), 2u);
    EXPECT_EQ(section.plots[0].series[0].y[1], 1);
    EXPECT_EQ(section.plots[0].series[0].y[14], 1);
    const std::vector<double>& days = section.plots[1].series[0].y;
    EXPECT_EQ(days[0], 1);  // The first day, or the Monday.
    EXPECT_EQ(days[dates ? 3 : 4], 1);
    EXPECT_EQ(section.plots[1].categories[3], dates ? "Thursday" : "day 4");
  }
}

TEST(Overview, DemandWhereStartsAreNotKnown) {
  History history;
  history.knows.runs = true;
  add_job(history, 0, 2).run = Duration::seconds(100);
  add_job(history, 50, 3).run = Duration::seconds(100);
  const Section section = study(history, nullptr, StudyOptions()).sections[0];
  ASSERT_EQ(section.plots.size(), 3u);
  const Series& wanted = section.plots[2].series[0];
  EXPECT_EQ(wanted.x, (std::vector<double>{0, 50, 100, 150}));
  EXPECT_EQ(wanted.y, (std::vector<double>{2, 5, 3, 0}));
  EXPECT_EQ(section.findings.back(), "The maximum demand was 5 GPUs.");
}

// Whether j, as it starts, leaves older and larger jobs of its tenant waiting; and the harm.
TEST(OutOfOrder, SecondBySecond) {
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    const History history = random_history(seed, 60);
    const Page page = study(history, nullptr, StudyOptions());
    const auto free_at = [&](std::int64_t s) {
      std::int64_t free = 48;
      for (const PastJob& job : history.jobs) {
        for (const Attempt& attempt : history.attempts_of(job)) {
          if (attempt.start <= second(s) && second(s) < attempt.end) free -= job.gpus;
        }
      }
      return std::max<std::int64_t>(free, 0);
    };
    double starts = 0;
    std::map<std::string, std::pair<double, double>> counts;  // Overtaking, harmful.
    for (const PastJob& j : history.jobs) {
      if (j.attempt_count == 0) continue;
      ++starts;
      const Attempt& first = history.attempts_of(j)[0];
      for (const PastJob& k : history.jobs) {
        if (k.attempt_count == 0 || k.tenant != j.tenant || k.gpus <= j.gpus) continue;
        const Instant k_start = history.attempts_of(k)[0].start;
        if (k.submit >= j.submit || k_start <= first.start) continue;
        bool harmful = false;
        for (std::int64_t s = seconds_of(first.start - Instant());
             second(s) < std::min(first.end, k_start); ++s) {
          harmful = harmful || free_at(s) + j.gpus >= k.gpus;
        }
        for (const std::string& name : {wait_size_name(k.gpus), std::string("all")}) {
          ++counts[name].first;
          if (harmful) ++counts[name].second;
        }
        break;
      }
    }
    for (const char* const name : {"2-4", "5-8", ">8", "all"}) {
      EXPECT_EQ(value_at(page, "out-of-order", name, "overtaking starts"), counts[name].first);
      EXPECT_EQ(value_at(page, "out-of-order", name, "harmful"), counts[name].second);
    }
    EXPECT_NEAR(value_at(page, "out-of-order", "all", "of all starts (%)"),
                100 * counts["all"].first / starts, 1e-9);
  }
}

TEST(Nodes, AsCountedNaively) {
  const History history = random_history(4, 300);
  const Page page = study(history, nullptr, StudyOptions());
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> waits;
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> runs;
  for (const PastJob& job : history.jobs) {
    if (job.gpus < 5 || job.attempt_count == 0) continue;
    const std::pair key(wait_size_name(job.gpus), history.attempts_of(job)[0].host_count);
    waits[key].push_back(wait_s(history, job) / kMinuteS);
    runs[key].push_back(job.run.in_seconds() / kMinuteS);
  }
  const PageTable& table = table_of(page, "servers-and-waiting");
  ASSERT_EQ(table.rows.size(), waits.size());
  for (const std::vector<Cell>& row : table.rows) {
    const std::pair key(std::get<std::string>(row[0]), std::get<std::int64_t>(row[1]));
    EXPECT_EQ(value_of(row[2]), static_cast<double>(waits[key].size()));
    EXPECT_NEAR(value_of(row[3]), naive_percentile(waits[key], 0.5), 1e-7);
    EXPECT_NEAR(value_of(row[4]), naive_percentile(waits[key], 0.9), 1e-7);
    EXPECT_NEAR(value_of(row[5]), naive_mean(waits[key]), 1e-7);
    EXPECT_NEAR(value_of(row[6]), naive_percentile(runs[key], 0.5), 1e-7);
    EXPECT_NEAR(value_of(row[7]), naive_percentile(runs[key], 0.9), 1e-7);
    EXPECT_NEAR(value_of(row[8]), naive_mean(runs[key]), 1e-7);
  }
}

}  // namespace
}  // namespace muster
