#include "engine/failure/prerun.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/failure/testing.h"

namespace muster {
namespace {

using testing_failures::philly_like;
using testing_failures::Sample;

Duration secs(std::int64_t seconds) { return Duration::seconds(seconds); }

TEST(PreRun, CatchesWhatIsWrongWithTheJobAndShowsSoon) {
  const PreRunOptions options;
  const InjectedFailure early{Reason::kImportError, secs(299), /*sticky=*/true};
  EXPECT_EQ(pre_run(4, early, secs(9000), options), (PreRun{secs(299), true}));
  EXPECT_EQ(pre_run(4, std::nullopt, secs(9000), options), (PreRun{secs(300), false}));
  const InjectedFailure late{Reason::kImportError, secs(300), true};
  EXPECT_EQ(pre_run(4, late, secs(9000), options), (PreRun{secs(300), false}));
  const InjectedFailure passing{Reason::kCoreDump, secs(10), false};
  EXPECT_EQ(pre_run(4, passing, secs(9000), options), (PreRun{secs(300), false}));
  const InjectedFailure of_gangs{Reason::kCudaFailure, secs(10), true};
  EXPECT_EQ(pre_run(4, of_gangs, secs(9000), options), (PreRun{secs(300), false}));
}

TEST(PreRun, TakesNoLongerThanTheJob) {
  EXPECT_EQ(pre_run(4, std::nullopt, secs(20), {}), (PreRun{secs(20), false}));
  const InjectedFailure after_its_end{Reason::kImportError, secs(30), true};
  EXPECT_EQ(pre_run(4, after_its_end, secs(20), {}), (PreRun{secs(20), false}));
}

TEST(PreRun, IsForJobsOfSeveralGpus) {
  const InjectedFailure early{Reason::kImportError, secs(10), true};
  EXPECT_EQ(pre_run(1, early, secs(9000), {}), (PreRun{}));
  EXPECT_EQ(pre_run(2, early, secs(9000), {}), (PreRun{secs(10), true}));
  EXPECT_EQ(pre_run(1, early, secs(9000), {.least_gpus = 1}), (PreRun{secs(10), true}));
}

// Returns the fraction of the trials in the table that a pre-run detects, for deterministic reasons
// except `without`.
struct Share {
  bool distributed_only = false;
  std::optional<Reason> without = std::nullopt;
  Duration limit = secs(300);
};
double caught(const Share& share) {
  const PreRunOptions options = {share.limit, 2};
  constexpr int kSteps = 2000;
  double trials = 0;
  double caught_trials = 0;
  for (const ReasonInfo& info : reasons()) {
    if (!info.deterministic() || info.reason == share.without) continue;
    const double count = info.trials - (share.distributed_only ? info.trials_by_size[0] : 0);
    trials += count;
    // Integrates the normal density from -5 to 5: the trial is z standard deviations late.
    double sum = 0;
    for (int i = 0; i < kSteps; ++i) {
      const double z = -5 + 10 * (i + 0.5) / kSteps;
      const InjectedFailure trouble{info.reason, time_to_failure(info.reason, z), true};
      if (!pre_run(2, trouble, Duration::max(), options).caught) continue;
      sum += std::exp(-z * z / 2) * 10 / kSteps / std::sqrt(2 * 3.14159265358979);
    }
    caught_trials += sum * count;
  }
  return caught_trials / trials;
}

// The study says that pre-runs avoid "a majority of these failures". By its table this is true for
// jobs of two or more GPUs, for which they are meant. It is not true for all jobs: two thirds of
// the 26,912 deterministic trials come too late. Most of these have one reason, CPU out of memory,
// which takes 13 minutes and nearly always hits one-GPU jobs.
TEST(PreRun, CatchesTheMajorityOfUserErrorsOfDistributedJobs) {
  const double distributed = caught({.distributed_only = true});
  RecordProperty("caught_of_distributed", std::to_string(distributed));
  EXPECT_NEAR(distributed, 0.544, 0.002);
  const double all = caught({});
  RecordProperty("caught_of_all", std::to_string(all));
  EXPECT_NEAR(all, 0.334, 0.002);
  const double others = caught({.without = Reason::kCpuOutOfMemory});
  RecordProperty("caught_of_all_but_cpu_out_of_memory", std::to_string(others));
  EXPECT_NEAR(others, 0.607, 0.002);
  const double longer = caught({.limit = secs(1200)});
  RecordProperty("caught_of_all_in_20_minutes", std::to_string(longer));
  EXPECT_NEAR(longer, 0.811, 0.002);
}

TEST(PreRun, CatchesAsManyOfTheJobsTheModelDraws) {
  const FaultModel model(FaultOptions{}, 42);
  int doomed = 0;
  int caught_jobs = 0;
  for (const Sample& job : philly_like(60'000, 1)) {
    if (job.gpus < 2) continue;
    const std::optional<InjectedFailure> trouble = model.trouble(job.id, job.gpus, 0, job.run_time);
    const PreRun found = pre_run(job.gpus, trouble, job.run_time, {});
    if (!trouble || !trouble->sticky) {
      EXPECT_FALSE(found.caught);
      continue;
    }
    ++doomed;
    caught_jobs += found.caught ? 1 : 0;
  }
  const double share = 1.0 * caught_jobs / doomed;
  RecordProperty("caught_of_doomed_distributed_jobs", std::to_string(share));
  EXPECT_GT(share, 0.5);
  EXPECT_LT(share, 0.9);
}

}  // namespace
}  // namespace muster
