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

TEST(LastEpochs, AreThoseAfterALossWithinATenthOfAPercent) {
  const auto recorded = [](std::vector<double> points) {
    LossFacts facts;
    facts.points = std::move(points);
    facts.epochs = 50;
    return facts;
  };
  ProfileTable profiles;
  Profile flat = Profile::unknown("flat");
  flat.state_loss(recorded({3, 1.002, 1.001, 1.3, 1.0005, 1}));
  Profile late = Profile::unknown("late");
  late.state_loss(recorded({3, 2, 1, 1.3, 0.9, 1.2}));
  Profile fitted = Profile::unknown("fitted");
  fitted.state_loss({0.3, 0.5, 1});
  for (const Profile& profile : {flat, late, fitted}) ASSERT_TRUE(profiles.add(profile).ok());
  History history;
  for (const char* const model : {"flat", "flat", "flat", "late", "fitted", "strange"}) {
    add_job(history, 0, 1).run = Duration::seconds(100);
    history.jobs.back().model = history.models.intern(model);
    history.jobs.back().status = Status::kPassed;
  }
  history.jobs[0].gpus = 5;
  history.jobs[2].status = Status::kKilled;
  StudyOptions options;
  options.profiles = &profiles;
  const Page page = study(history, nullptr, options);
  expect_sound(page);
  const auto value = [&](const char* row, const char* column) {
    return value_at(page, "last-epochs", row, column);
  };
  EXPECT_EQ(value("passed", "jobs"), 3);
  EXPECT_NEAR(value("passed", "within 0.1% of the best loss by 40% of the epochs (%)"), 200 / 3.0,
              1e-9);
  EXPECT_NEAR(value("passed", "epochs until then (%)"), (40 + 40 + 80) / 3.0, 1e-9);
  EXPECT_NEAR(value("passed", "GPU time after that (%)"), (5 * 60 + 60 + 20) / 7.0, 1e-9);
  EXPECT_NEAR(value("passed", "best loss in the last epoch (%)"), 200 / 3.0, 1e-9);
  EXPECT_NEAR(value("killed", "GPU time after that (%)"), 60, 1e-9);
  EXPECT_EQ(value("all", "jobs"), 4);
  EXPECT_EQ(
      value_at(page, "last-epochs-by-share", "30", "within 0.1% of the best loss (% of jobs)"), 0);
  EXPECT_EQ(
      value_at(page, "last-epochs-by-share", "40", "within 0.1% of the best loss (% of jobs)"), 75);
  EXPECT_EQ(value_at(page, "last-epochs-by-share", "80", "best loss (% of jobs)"), 25);
  EXPECT_EQ(value_at(page, "last-epochs-by-share", "100", "best loss (% of jobs)"), 100);
  EXPECT_EQ(value_at(page, "last-epochs-by-model", "late", "epochs"), 50);
  EXPECT_EQ(value_at(page, "last-epochs-by-model", "late", "epochs until within 0.1% (%)"), 80);
  EXPECT_NE(section_of(page, "last-epochs")
                .missing.find("Omitted: 2 jobs of models without recorded losses"),
            std::string::npos);
}

}  // namespace
}  // namespace muster
