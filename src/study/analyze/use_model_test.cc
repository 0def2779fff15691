#include "study/analyze/use_model.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "study/analyze/page_testing.h"
#include "study/analyze/testing.h"

namespace muster {
namespace {

// Appends to the last job an attempt with GPUs of nodes.
void hold(History& history, std::int64_t start_s, std::int64_t end_s,
          std::initializer_list<HostShare> shares) {
  Attempt& attempt = add_attempt(history, start_s, end_s);
  attempt.host_count = static_cast<std::uint32_t>(shares.size());
  history.hosts.insert(history.hosts.end(), shares);
}

History empty_nodes(int nodes) {
  History history;
  history.knows = all_known();
  for (int i = 0; i < nodes; ++i) history.nodes.push_back({"s" + std::to_string(i), 8, 8, 16});
  return history;
}

TEST(UseModel, GivesTheTestWithTwoGpus) {
  const double stated = 0.577;
  const auto use = [&](std::int32_t nodes, Company company) {
    return modeled_use({2, nodes, Status::kPassed, company, stated});
  };
  EXPECT_NEAR(use(1, Company::kAlone), 57.7, 1e-9);
  EXPECT_NEAR(use(1, Company::kSpreadOthers), 57.7, 1e-9) << "one node does not lose";
  EXPECT_NEAR(use(2, Company::kAlone), 49.6, 1e-9);
  EXPECT_NEAR(use(2, Company::kOthers), 37.5, 1e-9);
  EXPECT_NEAR(use(2, Company::kSpreadOthers), 36.5, 1e-9);
}

TEST(UseModel, GivesTheMeansBySizeAndStatus) {
  const auto use = [](std::int32_t gpus, Status status) { return modeled_use({gpus, 1, status}); };
  EXPECT_NEAR(use(1, Status::kPassed), 53.51, 1e-9);
  EXPECT_NEAR(use(1, Status::kFailed), 62.82, 1e-9);
  EXPECT_NEAR(use(4, Status::kKilled), 34.39, 1e-9);
  EXPECT_NEAR(use(8, Status::kKilled), 60.63, 1e-9);
  EXPECT_NEAR(use(8, Status::kUnknown), 58.99, 1e-9);
  EXPECT_NEAR(use(2, Status::kPassed), (53.51 + 51.13) / 2, 1e-9) << "between 1 and 4";
  EXPECT_EQ(use(500, Status::kPassed), use(16, Status::kPassed));
}

TEST(UseModel, GivesSixteenGpusByNodes) {
  const auto use = [](std::int32_t nodes) {
    return modeled_use({16, nodes, Status::kUnknown, Company::kOthers});
  };
  EXPECT_NEAR(use(2), 43.66, 1e-9);
  EXPECT_NEAR(use(4), 40.94, 1e-9);
  EXPECT_NEAR(use(8), 28.56, 1e-9);
  EXPECT_LT(use(16), use(8));
  EXPECT_GT(modeled_use({16, 8, Status::kUnknown, Company::kAlone}), use(8));
  EXPECT_NEAR(modeled_use({16, 2, Status::kPassed}), 44.88 * 43.66 / 40.39, 1e-9);
}

TEST(UseModel, CountsGpuMinutesByCompany) {
  History history = empty_nodes(3);
  add_job(history, 0, 2).status = Status::kPassed;
  hold(history, 0, 600, {{0, 0b1}, {1, 0b1}});
  add_job(history, 0, 1).status = Status::kPassed;
  hold(history, 120, 360, {{1, 0b10}});  // Next to the first for four minutes.
  add_job(history, 0, 2).status = Status::kPassed;
  hold(history, 240, 300, {{0, 0b10}, {2, 0b1}});  // For one minute, and spread.
  const UseStudy study = model_use(history, nullptr);
  EXPECT_TRUE(study.modeled && study.any());
  const double alone = modeled_use({2, 2, Status::kPassed, Company::kAlone});
  const double beside = modeled_use({2, 2, Status::kPassed, Company::kOthers});
  const double spread = modeled_use({2, 2, Status::kPassed, Company::kSpreadOthers});
  EXPECT_EQ(study.pairs[0].count(), 0u);
  EXPECT_EQ(study.pairs[1].count(), 12u);  // Six minutes of two GPUs.
  EXPECT_EQ(study.pairs[2].count(), 6u);
  EXPECT_EQ(study.pairs[3].count(), 4u);  // One minute each of both gangs.
  EXPECT_NEAR(study.pairs[1].mean(), alone, 1e-3);
  EXPECT_NEAR(study.pairs[2].mean(), beside, 1e-3);
  EXPECT_NEAR(study.pairs[3].mean(), spread, 1e-3);
  ASSERT_EQ(study.gpus.size(), 2u);
  EXPECT_EQ(study.gpus[0].gpus, 1);
  EXPECT_NEAR(study.gpus[0].use.mean(), 53.51, 1e-3);
  EXPECT_EQ(study.gpus[1].use.count(), 22u);
  EXPECT_NEAR(study.gpus[1].use.mean(), (12 * alone + 6 * beside + 4 * spread) / 22, 1e-3);
}

TEST(UseModel, KnowsDedicatedNodesAndStatedUse) {
  ProfileTable profiles;
  Profile model = Profile::unknown("resnet50");
  model.state_gpu_use(0.4);
  ASSERT_TRUE(profiles.add(std::move(model)).ok());
  History history = empty_nodes(2);
  add_job(history, 0, 8).status = Status::kKilled;
  hold(history, 0, 6000, {{0, 0xff}});
  add_job(history, 0, 2).model = history.models.intern("resnet50");
  hold(history, 0, 6000, {{1, 0b11}});
  const UseStudy study = model_use(history, &profiles);
  ASSERT_EQ(study.gpus.size(), 2u);
  EXPECT_FALSE(study.gpus[0].dedicated);
  EXPECT_NEAR(study.gpus[0].use.mean(), 40, 1e-3);
  EXPECT_TRUE(study.gpus[1].dedicated);
  EXPECT_NEAR(study.gpus[1].use.mean(), 60.63, 1e-3);
  EXPECT_EQ(study.gpus[1].use.count(), 800u);
  EXPECT_NEAR(static_cast<double>(study.gpus[1].use.minutes[0]) / 800, 0.22, 0.01) << "idle";
}

// Percentiles of jobs with 16 GPUs, from memory: p50 43.69, 39.85, 25.71; p90 91.77, 83.28, 65.68.
TEST(UseModel, SpreadsMinutesAboutAsInTheStudy) {
  struct Case {
    std::uint32_t nodes;
    double p50, p90;
  };
  for (const Case& row : {Case{2, 43.69, 91.77}, Case{4, 39.85, 83.28}, Case{8, 25.71, 65.68}}) {
    History history = empty_nodes(8);
    add_job(history, 0, 16);
    Attempt& attempt = add_attempt(history, 0, 600'000);
    attempt.host_count = row.nodes;
    for (std::uint32_t i = 0; i < row.nodes; ++i) {
      history.hosts.push_back({i, (std::uint64_t{1} << (16 / row.nodes)) - 1});
    }
    for (std::uint32_t i = 0; i < row.nodes && row.nodes > 2; ++i) {
      add_job(history, 0, 1);
      hold(history, 0, 600'000, {{i, 0x80}});
    }
    const UseStudy study = model_use(history, nullptr);
    const UseHistogram use = study.where([](const UseCell& cell) { return cell.gpus == 16; });
    EXPECT_NEAR(use.quantile(0.5), row.p50, 6) << row.nodes;
    EXPECT_NEAR(use.quantile(0.9), row.p90, 8) << row.nodes;
  }
}

TEST(UseModel, IsMarkedOnThePage) {
  History history = empty_nodes(2);
  add_job(history, 0, 2).status = Status::kPassed;
  hold(history, 0, 6000, {{0, 0b1}, {1, 0b1}});
  const UseStudy study_of_run = model_use(history, nullptr);
  const Page page = study(history, &study_of_run, StudyOptions());
  expect_sound(page);
  const Section& section = section_of(page, "utilisation");
  EXPECT_TRUE(section.findings.front().starts_with("The GPU utilization is a model, not measured"));
  EXPECT_EQ(section.missing, "the measured utilization of GPUs, CPUs and memory");
  for (const PageTable& table : section.tables) {
    EXPECT_TRUE(table.title.ends_with(" (model, not measured)")) << table.key;
  }
  EXPECT_NEAR(value_at(page, "use-of-2-by-neighbors", "two nodes", "mean (%)"),
              modeled_use({2, 2, Status::kPassed}), 0.01);
}

TEST(UseModel, OfNothing) {
  EXPECT_FALSE(model_use(History(), nullptr).any());
  History history = empty_nodes(1);
  add_job(history, 0, 1);
  hold(history, 5, 5, {{0, 1}});  // No time at all.
  EXPECT_FALSE(model_use(history, nullptr).any());
}

}  // namespace
}  // namespace muster
