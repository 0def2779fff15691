// The sections about how jobs ended: outcomes, attempts, failures and their cost.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "study/analyze/input_blacklist.h"
#include "study/analyze/page_testing.h"
#include "study/analyze/replay.h"
#include "study/analyze/testing.h"

namespace muster {
namespace {

std::string size_name(std::int32_t gpus) {
  return gpus == 1 ? "1" : gpus < 5 ? "2-4" : gpus < 9 ? "5-8" : ">8";
}

double gpu_hours(Duration time, std::int32_t gpus) { return time.in_hours() * gpus; }

TEST(Outcomes, AsCountedNaively) {
  constexpr std::array<const char*, 4> kNames = {"passed", "killed", "failed", "not known"};
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const History history = random_history(seed, 70);
    const Page page = study(history, nullptr, StudyOptions());
    for (std::size_t status = 0; status < kNames.size(); ++status) {
      std::map<std::string, double> jobs, all_jobs, hours, all_hours;
      for (const PastJob& job : history.jobs) {
        if (job.gpus == 0) continue;
        for (const std::string& name : {size_name(job.gpus), std::string("all")}) {
          ++all_jobs[name];
          all_hours[name] += gpu_hours(job.run, job.gpus);
          if (job.status != static_cast<Status>(status)) continue;
          ++jobs[name];
          hours[name] += gpu_hours(job.run, job.gpus);
        }
      }
      const std::string row = kNames[status];
      EXPECT_EQ(value_at(page, "outcomes", row, "jobs"), jobs["all"]);
      EXPECT_NEAR(value_at(page, "outcomes", row, "jobs (%)"), 100 * jobs["all"] / all_jobs["all"],
                  1e-9);
      EXPECT_NEAR(value_at(page, "outcomes", row, "GPU hours"), hours["all"], 1e-9);
      EXPECT_NEAR(value_at(page, "outcomes", row, "GPU hours (%)"),
                  100 * hours["all"] / all_hours["all"], 1e-9);
      for (const char* const size : {"1", "2-4", "5-8", ">8"}) {
        EXPECT_NEAR(value_at(page, "outcomes-by-size", size, row + " (% of jobs)"),
                    100 * jobs[size] / all_jobs[size], 1e-9);
        EXPECT_NEAR(value_at(page, "outcomes-by-size", size, row + " (% of GPU hours)"),
                    100 * hours[size] / all_hours[size], 1e-9);
      }
    }
  }
}

TEST(Attempts, AsCountedNaively) {
  const History history = random_history(11, 150);
  const Page page = study(history, nullptr, StudyOptions());
  for (const char* const size : {"1", "2-4", "5-8", ">8", "all"}) {
    double jobs = 0, attempts = 0, retries = 0, failures = 0, hit = 0, failed = 0;
    for (const PastJob& job : history.jobs) {
      const bool counts = std::string(size) == "all" || size == size_name(job.gpus);
      if (job.gpus == 0 || job.attempt_count == 0 || !counts) continue;
      ++jobs;
      retries -= 1;
      bool was_hit = false;
      for (const Attempt& attempt : history.attempts_of(job)) {
        ++attempts;
        ++retries;
        if (attempt.failed) ++failures;
        was_hit = was_hit || attempt.failed;
      }
      if (was_hit) ++hit;
      if (job.status == Status::kFailed) ++failed;
    }
    EXPECT_EQ(value_at(page, "attempts", size, "jobs"), jobs);
    EXPECT_NEAR(value_at(page, "attempts", size, "attempts a job"), attempts / jobs, 1e-9);
    EXPECT_NEAR(value_at(page, "attempts", size, "retries a job"), retries / jobs, 1e-9);
    EXPECT_NEAR(value_at(page, "attempts", size, "failures a job"), failures / jobs, 1e-9);
    EXPECT_NEAR(value_at(page, "attempts", size, "jobs hit (%)"), 100 * hit / jobs, 1e-9);
    EXPECT_NEAR(value_at(page, "attempts", size, "failed for good (%)"), 100 * failed / jobs, 1e-9);
  }
}

struct NaiveRow {
  double trials = 0, minutes = 0, gpu_hours = 0, one = 0, few = 0, many = 0;
  std::set<std::uint32_t> jobs;
  std::set<std::string> users;
  std::multiset<double> times;
};

TEST(Failures, AsCountedNaively) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const History history = random_history(seed, 250);
    const Page page = study(history, nullptr, StudyOptions());
    std::map<std::string, NaiveRow> rows;
    for (std::uint32_t j = 0; j < history.jobs.size(); ++j) {
      const PastJob& job = history.jobs[j];
      for (const Attempt& attempt : history.attempts_of(job)) {
        if (!attempt.failed) continue;
        const std::string name =
            attempt.reason ? std::string(info_of(*attempt.reason).name) : "Unknown";
        for (const std::string& row_name : {name, std::string("all")}) {
          NaiveRow& row = rows[row_name];
          ++row.trials;
          row.jobs.insert(j);
          row.users.insert(history.users[job.user]);
          const double minutes = (attempt.end - attempt.start).in_seconds() / 60;
          row.times.insert(minutes);
          row.minutes += minutes;
          row.gpu_hours += minutes * job.gpus / 60;
          ++(job.gpus == 1 ? row.one : job.gpus <= 4 ? row.few : row.many);
        }
      }
    }
    EXPECT_EQ(table_of(page, "failures").rows.size(), rows.size());
    double before = 1e9;
    for (const std::vector<Cell>& cells : table_of(page, "failures").rows) {
      if (std::get<std::string>(cells[0]) == "all") continue;
      EXPECT_LE(value_of(cells[2]), before);
      before = value_of(cells[2]);
    }
    for (const auto& [name, row] : rows) {
      const std::string& key = name;
      const auto at = [&](const char* column) { return value_at(page, "failures", key, column); };
      const auto p90 = static_cast<std::ptrdiff_t>(row.times.size() * 9 / 10);
      const auto p95 = static_cast<std::ptrdiff_t>(row.times.size() * 19 / 20);
      EXPECT_EQ(at("trials"), row.trials);
      EXPECT_EQ(at("jobs"), static_cast<double>(row.jobs.size()));
      EXPECT_EQ(at("users"), static_cast<double>(row.users.size()));
      EXPECT_NEAR(at("p90 (min)"), *std::next(row.times.begin(), p90), 1e-7);
      EXPECT_NEAR(at("p95 (min)"), *std::next(row.times.begin(), p95), 1e-7);
      EXPECT_NEAR(at("of all time to failure (%)"), 100 * row.minutes / rows["all"].minutes, 1e-7);
      EXPECT_NEAR(at("of its GPU time (%)"), 100 * row.gpu_hours / rows["all"].gpu_hours, 1e-7);
      EXPECT_EQ(at("on 1 GPU"), row.one);
      EXPECT_EQ(at("on 2-4 GPUs"), row.few);
      EXPECT_EQ(at("on >4 GPUs"), row.many);
      EXPECT_NEAR(at("trials a job"), row.trials / static_cast<double>(row.jobs.size()), 1e-9);
      EXPECT_NEAR(at("trials a user"), row.trials / static_cast<double>(row.users.size()), 1e-9);
    }
    EXPECT_NEAR(value_at(page, "failure-losses", "all", "lost (GPU hours)"), rows["all"].gpu_hours,
                1e-7);
  }
}

TEST(Failures, OneAttemptThatStandsForAllTellsTheLastReasonOnly) {
  History history;
  history.knows = all_known();
  history.knows.attempts = history.knows.hosts = false;
  add_job(history, 0, 2).status = Status::kFailed;
  add_attempt(history, 0, 1000, true, Reason::kSyntaxError);
  history.jobs.back().failures = 4;
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_EQ(value_at(page, "failures", "Syntax error", "trials"), 1);
  EXPECT_EQ(value_at(page, "failures", "Unknown", "trials"), 3);
  EXPECT_EQ(value_at(page, "failures", "all", "trials"), 4);
  EXPECT_EQ(value_at(page, "failures", "all", "jobs"), 1);
  EXPECT_EQ(value_at(page, "failures", "Syntax error", "time to failure p50 (min)"), -1);
  EXPECT_EQ(
      section_of(page, "failures").missing,
      "the reasons of all failures except the last one of a failed job and the run times of 4 "
      "failed attempts");
}

// ---- what would have been spared

struct Replay : testing::Test {
  Replay() { history.knows = all_known(); }

  Replayed result() {
    const StudyOptions options;
    const StudyInput asked = ask(history, nullptr, options);
    const std::vector<std::size_t> listed = blacklist_stops(asked);
    return replay(asked, history.jobs.back(), listed.empty() ? kNoStop : listed.back());
  }

  History history;
};

TEST_F(Replay, PreRunCatchesWhatShowsAtOnce) {
  add_job(history, 0, 8).status = Status::kFailed;
  add_attempt(history, 0, 100, true, Reason::kCoreDump);  // Not surely the program.
  add_attempt(history, 200, 260, true, Reason::kSyntaxError);
  add_attempt(history, 300, 10'000, true, Reason::kMpiError);
  const Replayed found = result();
  EXPECT_EQ(found.failed, 3);
  EXPECT_EQ(found.lost_gpu_us, 8 * (100 + 60 + 9700) * 1'000'000LL);
  EXPECT_EQ(found.pre_run.attempts, 2);
  EXPECT_EQ(found.pre_run.gpu_us, 8 * (60 + 9700) * 1'000'000LL);
  EXPECT_EQ(found.pre_run_gpu_us, 60'000'000);
}

TEST_F(Replay, PreRunCatchesASuspectReasonThatEveryAttemptHas) {
  add_job(history, 0, 8).status = Status::kFailed;
  add_attempt(history, 0, 100, true, Reason::kCoreDump);
  EXPECT_EQ(result().pre_run.attempts, 0) << "one attempt shows nothing";
  add_attempt(history, 100, 200, true, Reason::kCoreDump);
  EXPECT_EQ(result().pre_run.attempts, 2);
  history.jobs.back().status = Status::kKilled;
  EXPECT_EQ(result().pre_run.attempts, 0);
}

TEST_F(Replay, PreRunDoesNotCatchWhatIsLateNeedsGpusOrGoesWithout) {
  add_job(history, 0, 8).status = Status::kFailed;
  add_attempt(history, 0, 300, true, Reason::kSyntaxError);  // Not before the limit.
  add_attempt(history, 400, 401, true, Reason::kCudaVersionMismatch);
  EXPECT_EQ(result().pre_run.attempts, 0);
  EXPECT_EQ(result().pre_run_gpu_us, 300'000'000);
  add_job(history, 0, 1).status = Status::kFailed;
  add_attempt(history, 0, 10, true, Reason::kSyntaxError);
  EXPECT_EQ(result().pre_run.attempts, 0);
  EXPECT_EQ(result().pre_run_gpu_us, 0);
}

TEST_F(Replay, AdaptiveRetryStopsAtWhatNoRetryCanFix) {
  add_job(history, 0, 1).status = Status::kFailed;
  add_attempt(history, 0, 10, true, Reason::kIncorrectInputs);
  add_attempt(history, 10, 30, true, Reason::kIncorrectInputs);
  add_attempt(history, 30, 70, true, Reason::kIncorrectInputs);
  const Replayed found = result();
  EXPECT_EQ(found.retry.attempts, 2);
  EXPECT_EQ(found.retry.gpu_us, 60'000'000);
  EXPECT_EQ(found.together.gpu_us, 60'000'000);
  EXPECT_EQ(found.given_up, 0);
}

TEST_F(Replay, AJobThatPassedWouldHaveBeenGivenUp) {
  add_job(history, 0, 1).status = Status::kPassed;
  add_attempt(history, 0, 10, true, Reason::kIncorrectInputs);
  add_attempt(history, 10, 30);
  EXPECT_EQ(result().given_up, 1);
  EXPECT_EQ(result().retry.attempts, 0);
}

TEST_F(Replay, NobodyStopsAtPreemptionsOrWithoutAReason) {
  add_job(history, 0, 4).status = Status::kFailed;
  for (int i = 0; i < 6; ++i) {
    add_attempt(history, 100 * i, 100 * i + 10, true,
                i % 2 == 0 ? std::optional(Reason::kPreempted) : std::nullopt);
  }
  EXPECT_EQ(result().retry.attempts, 0);
  EXPECT_EQ(result().pre_run.attempts, 0);
}

// Adds a job of the user and name that fails twice, with the reason.
void add_failing(History& history, std::int64_t at, Reason reason, std::string_view name = "e") {
  add_job(history, at, 1).status = Status::kFailed;
  history.jobs.back().name = history.names.intern(name);
  add_attempt(history, at, at + 10, true, reason);
  add_attempt(history, at + 10, at + 30, true, reason);
}

TEST_F(Replay, BlacklistStopsRetriesOfTheThirdFailingJobOfAnInput) {
  history.names.intern("");
  add_failing(history, 0, Reason::kIncorrectInputs);
  add_failing(history, 100, Reason::kIncorrectInputs);
  EXPECT_EQ(result().blacklist.attempts, 0) << "the first two";
  add_failing(history, 200, Reason::kIncorrectInputs, "other");
  EXPECT_EQ(result().blacklist.attempts, 0) << "another name";
  add_failing(history, 300, Reason::kCoreDump);
  EXPECT_EQ(result().blacklist.attempts, 1) << "for each reason that can be its fault";
  EXPECT_EQ(result().blacklist.gpu_us, 20'000'000);
  EXPECT_EQ(result().retry.attempts, 0);
  EXPECT_EQ(result().together.attempts, 1);
  for (const Reason reason : {Reason::kPreempted, Reason::kGpuEccError, Reason::kCheckpointError}) {
    add_failing(history, 400, reason);
    EXPECT_EQ(result().blacklist.attempts, 0) << "not its own fault";
  }
}

TEST_F(Replay, BlacklistNeedsNamesAndTimes) {
  history.names.intern("");
  for (int i = 0; i < 4; ++i) add_failing(history, 100 * i, Reason::kIncorrectInputs, "");
  EXPECT_EQ(result().blacklist.attempts, 0) << "jobs without a name";
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_NE(section_of(page, "failure-costs").missing.find("names of jobs"), std::string::npos);
}

TEST_F(Replay, BlacklistForgetsAnInputThatSucceedsOrFailsInAnotherWay) {
  history.names.intern("");
  add_failing(history, 0, Reason::kIncorrectInputs);
  add_failing(history, 100, Reason::kSyntaxError);
  add_failing(history, 200, Reason::kIncorrectInputs);
  EXPECT_EQ(result().blacklist.attempts, 0) << "each reason is a new fault";
  add_failing(history, 300, Reason::kIncorrectInputs);
  add_job(history, 400, 1).status = Status::kPassed;
  history.jobs.back().name = history.names.intern("e");
  add_attempt(history, 400, 410);
  add_failing(history, 500, Reason::kIncorrectInputs);
  EXPECT_EQ(result().blacklist.attempts, 0) << "one job has passed";
}

TEST_F(Replay, TogetherSpareWhatAnyMeasureDoes) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    history = random_history(seed, 100);
    const StudyOptions options;
    const StudyInput asked = ask(history, nullptr, options);
    const std::vector<std::size_t> listed = blacklist_stops(asked);
    for (const StudyJob& job : asked.jobs) {
      const Replayed found =
          replay(asked, asked.past(job), listed.empty() ? kNoStop : listed[job.index]);
      // Each spares a tail of the same attempts, so all together spare the longest.
      EXPECT_EQ(found.together.attempts,
                std::max({found.pre_run.attempts, found.retry.attempts, found.blacklist.attempts}));
      EXPECT_EQ(found.together.gpu_us,
                std::max({found.pre_run.gpu_us, found.retry.gpu_us, found.blacklist.gpu_us}));
      EXPECT_LE(found.together.gpu_us, found.lost_gpu_us);
    }
  }
}

TEST(FailureCosts, PreRunFindsUserErrorsOfGangs) {
  History history;
  history.knows = all_known();
  for (const std::int32_t gpus : {1, 4, 8}) {
    add_job(history, 0, gpus).status = Status::kFailed;
    add_attempt(history, 0, 60, true, Reason::kSyntaxError);
  }
  add_job(history, 0, 4).status = Status::kFailed;
  add_attempt(history, 0, 1000, true, Reason::kSyntaxError);
  add_job(history, 0, 4).status = Status::kFailed;
  add_attempt(history, 0, 60, true, Reason::kMpiRuntimeFailure);
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_EQ(value_at(page, "pre-run-catches", "user error that no retry fixes", "jobs"), 3);
  EXPECT_EQ(
      value_at(page, "pre-run-catches", "user error that no retry fixes", "found by the pre-run"),
      2);
  EXPECT_EQ(value_at(page, "pre-run-catches", "other", "jobs"), 1);
  EXPECT_EQ(value_at(page, "pre-run-catches", "other", "found by the pre-run"), 0);
}

TEST(FailureCosts, WhatTheSourceCallsLostCounts) {
  History history;
  history.knows.runs = history.knows.lost = true;
  add_job(history, 0, 2).run = Duration::seconds(7200);
  history.jobs.back().lost_gpu_us = 3'600'000'000;
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_DOUBLE_EQ(value_at(page, "failure-losses", "2-4", "lost (GPU hours)"), 1);
  EXPECT_DOUBLE_EQ(value_at(page, "failure-losses", "all", "of all GPU hours (%)"), 25);
  EXPECT_NE(section_of(page, "failure-costs").missing, "");
}

}  // namespace
}  // namespace muster
