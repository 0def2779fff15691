#include "study/analyze/study.h"

#include <gtest/gtest.h>

#include <chrono>

#include "study/analyze/page_testing.h"
#include "study/analyze/testing.h"
#include "tests/data.h"
#include "tests/philly_files.h"
#include "workload/history/trace_history.h"
#include "workload/philly/philly_log.h"
#include "workload/philly/philly_use.h"
#include "workload/trace/reader.h"

namespace muster {
namespace {

Page study_of(const History& history) { return study(history, nullptr, StudyOptions()); }

TEST(Study, OfNothingSaysWhatIsMissing) {
  const Page page = study_of(History());
  expect_sound(page);
  for (const Section& section : page.sections) EXPECT_FALSE(section.missing.empty()) << section.key;
  EXPECT_EQ(section_of(page, "overview").findings.front(), "0 jobs in 0.00 s.");
}

TEST(Study, AnswersWhateverTheSourceKnows) {
  // Every fact alone, and all but it, with no job, one and several.
  constexpr std::array<bool Knows::*, 13> kFacts = {
      &Knows::dates,  &Knows::runs,     &Knows::starts,  &Knows::attempts, &Knows::hosts,
      &Knows::status, &Knows::failures, &Knows::reasons, &Knows::tenants,  &Knows::users,
      &Knows::use,    &Knows::waits,    &Knows::lost};
  for (const int jobs : {0, 1, 2, 60}) {
    for (bool Knows::*fact : kFacts) {
      History history = random_history(static_cast<std::uint64_t>(jobs) + 5, jobs);
      history.knows = Knows();
      history.knows.*fact = true;
      expect_sound(study_of(history));
      history.knows = all_known();
      history.knows.dates = history.knows.use = history.knows.lost = true;
      history.knows.*fact = false;
      expect_sound(study_of(history));
    }
  }
}

TEST(Study, OneJobReadsWell) {
  History history;
  history.knows = all_known();
  add_job(history, 0, 1).status = Status::kPassed;
  add_attempt(history, 30, 3630);
  const Page page = study_of(history);
  expect_sound(page);
  EXPECT_EQ(section_of(page, "overview").findings.front(),
            "1 job of 1 tenant and 1 user in 60.5 min, using 1.0 GPU hours.");
  EXPECT_EQ(section_of(page, "queueing").findings.front(),
            "1 job started: 100.0% within 1 minute, 100.0% within 3 and 100.0% "
            "within 10. The mean wait is 30.0 s, the median is 30.0 s.");
  EXPECT_EQ(section_of(page, "failures").findings.front(), "No attempt is known to have failed.");
}

TEST(Study, SameInputSamePage) {
  const History history = random_history(3, 80);
  const Page one = study_of(history);
  const Page two = study_of(history);
  ASSERT_EQ(one.sections.size(), two.sections.size());
  for (std::size_t i = 0; i < one.sections.size(); ++i) {
    EXPECT_EQ(one.sections[i].findings, two.sections[i].findings);
  }
}

TEST(Study, CountsWhatItLeavesOut) {
  History history;
  history.knows = all_known();
  add_job(history, 0, 0);
  add_job(history, 10, 1);
  add_attempt(history, 5, 20);
  add_job(history, 20, 1).status = Status::kPassed;
  add_attempt(history, 30, 40).end = Instant::never();
  add_job(history, 30, 1);
  add_attempt(history, 30, 40).start = Instant::never();
  const Page page = study_of(history);
  const std::vector<std::string> expected = {
      "1 job without known GPUs: counted only in the overview",
      "1 job started before submission: counted as not waiting",
      "1 job with unknown first start: omitted from all waiting statistics",
      "1 attempt without a known end: counted as holding no GPUs"};
  EXPECT_EQ(page.notes, expected);
  EXPECT_EQ(value_at(page, "overview", "jobs", "value"), 4);
}

TEST(Study, OfThePublicTrace) {
  const auto path = data_file("philly_full.csv");
  if (!path) GTEST_SKIP() << "philly_full.csv not found; set MUSTER_DATA";
  const Result<Trace> trace = read_trace(*path, "", ProfileTable());
  ASSERT_TRUE(trace.ok());
  const Page page = study_of(from_trace(trace.value()));
  expect_sound(page);
  EXPECT_EQ(value_at(page, "overview", "jobs", "value"), 82'247);
  EXPECT_EQ(value_at(page, "run-times", "all", "jobs"), 82'247);
  EXPECT_FALSE(section_of(page, "queueing").missing.empty());
}

TEST(Study, OfAPhillyLog) {
  PhillyJobs options;
  options.jobs = 3'000;
  Result<History> read = parse_philly_log(written(write_philly_log, options), "log");
  ASSERT_TRUE(read.ok());
  History history = std::move(read).value();
  UseStudy use;
  PhillyMinutes minutes;
  minutes.minutes = 5;
  const std::string text = written(write_philly_gpu_use, minutes);
  ASSERT_FALSE(add_gpu_use(only(ByteSource::of(text, "gpu")), history, use));
  const Page page = study(history, &use, StudyOptions());
  expect_sound(page);
  for (const char* const key :
       {"overview", "queueing", "servers", "outcomes", "attempts", "who-waited-for-whom"}) {
    EXPECT_TRUE(section_of(page, key).missing.empty()) << key;
    EXPECT_FALSE(section_of(page, key).findings.empty()) << key;
  }
  EXPECT_NE(section_of(page, "wait-causes").missing.find("inferred"), std::string::npos);
}

}  // namespace
}  // namespace muster
