// The sections that need more than jobs: how busy GPUs were, and how losses fell.

#include <gtest/gtest.h>

#include <cmath>

#include "study/analyze/page_testing.h"
#include "study/analyze/testing.h"

namespace muster {
namespace {

UseCell cell(std::int32_t gpus, std::int32_t nodes, Status status, bool dedicated,
             const std::vector<std::int64_t>& percents) {
  UseCell result;
  result.gpus = gpus;
  result.nodes = nodes;
  result.status = status;
  result.dedicated = dedicated;
  for (const std::int64_t percent : percents) result.use.add(percent * kPercent);
  return result;
}

TEST(Utilization, AddsUpTheCellsAskedFor) {
  UseStudy use;
  use.gpus = {cell(1, 1, Status::kPassed, false, {10, 30}), cell(1, 1, Status::kKilled, false, {0}),
              cell(8, 1, Status::kPassed, true, {60, 70}), cell(16, 2, Status::kFailed, true, {40}),
              cell(16, 4, Status::kFailed, false, {0, 20})};
  use.cpu.add(15 * kPercent);
  use.memory.add(95 * kPercent);
  History history;
  const Page page = study(history, &use, StudyOptions());
  expect_sound(page);
  const auto mean = [&](const char* row, const char* column) {
    return value_at(page, "use-by-size", row, column);
  };
  EXPECT_DOUBLE_EQ(mean("1", "passed (%)"), 20);
  EXPECT_DOUBLE_EQ(mean("1", "killed (%)"), 0);
  EXPECT_EQ(mean("1", "failed (%)"), -1);
  EXPECT_NEAR(mean("1", "all (%)"), 40 / 3.0, 1e-9);
  EXPECT_DOUBLE_EQ(mean("16", "all (%)"), 20);
  EXPECT_DOUBLE_EQ(mean("all sizes", "all (%)"), 230 / 8.0);
  EXPECT_EQ(mean("4", "GPU minutes"), 0);
  EXPECT_DOUBLE_EQ(value_at(page, "idle-by-size", "all sizes", "all (%)"), 25);
  EXPECT_DOUBLE_EQ(value_at(page, "use-of-16-by-servers", "4", "mean (%)"), 10);
  EXPECT_DOUBLE_EQ(value_at(page, "use-of-16-by-servers", "4", "below 1% (%)"), 50);
  EXPECT_DOUBLE_EQ(value_at(page, "use-of-dedicated", "8 GPUs on 1 node", "mean (%)"), 65);
  EXPECT_DOUBLE_EQ(value_at(page, "use-of-dedicated", "16 GPUs on 2 nodes", "p50 (%)"), 40);
  EXPECT_DOUBLE_EQ(value_at(page, "use-of-hosts", "CPU", "p50 (%)"), 15);
  EXPECT_DOUBLE_EQ(value_at(page, "use-of-hosts", "memory", "mean (%)"), 95);
}

TEST(Utilization, OfNoMinutesAtAll) {
  const UseStudy use;
  expect_sound(study(History(), &use, StudyOptions()));
}

TEST(Utilization, MeansOfJobsWhereThatIsAll) {
  History history;
  history.knows.use = true;
  add_job(history, 0, 1).gpu_use = 0.5F;
  history.jobs.back().run = Duration::seconds(30);
  add_job(history, 0, 1).gpu_use = 0.25F;
  history.jobs.back().run = Duration::seconds(10);
  add_job(history, 0, 16);
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_DOUBLE_EQ(value_at(page, "use-by-size", "1", "mean of jobs (%)"), 37.5);
  EXPECT_DOUBLE_EQ(value_at(page, "use-by-size", "1", "mean by GPU time (%)"), 43.75);
  EXPECT_EQ(value_at(page, "use-by-size", ">8", "jobs"), 0);
  EXPECT_EQ(section_of(page, "utilisation").findings.front(),
            "The mean GPU utilization of 2 jobs was 37.5%.");
}

TEST(LastEpochs, AsTheProfilesSay) {
  ProfileTable profiles;
  Profile quick = Profile::unknown("quick");
  const LossFacts facts{0.3, 0.5, 1.0};
  quick.state_loss(facts);
  ASSERT_TRUE(profiles.add(quick).ok());
  ASSERT_TRUE(profiles.add(Profile::unknown("sized")).ok()) << "a typical loss is not a fact";
  History history;
  add_job(history, 0, 2).run = Duration::seconds(100);
  history.jobs.back().model = history.models.intern("quick");
  history.jobs.back().status = Status::kPassed;
  add_job(history, 0, 1).model = history.models.intern("strange");
  add_job(history, 0, 1).model = history.models.intern("sized");
  StudyOptions options;
  options.profiles = &profiles;
  const Page page = study(history, nullptr, options);
  expect_sound(page);
  // Losses one by one: the job is done when ten more passes gain less than 5% of the first loss.
  const auto loss = [&](int k) { return 1 / (facts.b0 * k + facts.b1) + facts.b2; };
  int all = 10;
  while (loss(all - 10) - loss(all) >= 0.05 * loss(0)) ++all;
  const auto until = [&](double part) {
    for (int k = 1; k < all; ++k) {
      if (loss(0) - loss(k) >= part * (loss(0) - loss(all))) return 100.0 * k / all;
    }
    return 100.0;
  };
  EXPECT_LT(until(0.9), until(0.99));
  EXPECT_LT(until(0.99), 100);
  EXPECT_EQ(value_at(page, "last-epochs-by-model", "quick", "passes"), all);
  EXPECT_NEAR(value_at(page, "last-epochs-by-model", "quick", "until 90% of the fall (%)"),
              until(0.9), 1e-9);
  EXPECT_NEAR(value_at(page, "last-epochs", "passed", "passes until 90% of the fall (%)"),
              until(0.9), 1e-9);
  EXPECT_NEAR(value_at(page, "last-epochs", "passed", "until 99% (%)"), until(0.99), 1e-9);
  EXPECT_NEAR(value_at(page, "last-epochs", "passed", "GPU time after that (%)"), 100 - until(0.99),
              1e-9);
  EXPECT_EQ(value_at(page, "last-epochs", "killed", "jobs"), 0);
  EXPECT_NE(section_of(page, "last-epochs")
                .missing.find("Omitted: 2 jobs of models without a loss curve"),
            std::string::npos);
}

}  // namespace
}  // namespace muster
