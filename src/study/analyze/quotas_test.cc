#include "study/analyze/quotas.h"

#include <gtest/gtest.h>

#include <map>

#include "study/analyze/page_testing.h"
#include "study/analyze/testing.h"

namespace muster {
namespace {

std::vector<Step> random_steps(Random& random) {
  std::vector<Step> changes;
  const std::uint64_t holds = random.below(12);
  for (std::uint64_t i = 0; i < holds; ++i) {
    const auto begin = static_cast<std::int64_t>(20 + random.below(100));
    const auto end = begin + 1 + static_cast<std::int64_t>(random.below(60));
    const auto gpus = static_cast<std::int64_t>(1 + random.below(6));
    changes.push_back({second(begin), gpus});
    changes.push_back({second(end), -gpus});
  }
  return steps_of(std::move(changes));
}

TEST(FairShareWaits, SecondBySecond) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Step> held = random_steps(random);
    const auto quota = static_cast<std::int64_t>(random.below(12));
    std::vector<WaitingJob> jobs;
    for (int i = 0; i < 10; ++i) {
      const auto submit = static_cast<std::int64_t>(random.below(150));
      const auto wait = static_cast<std::int64_t>(random.below(80));
      jobs.push_back(
          {second(submit), second(submit + wait), static_cast<std::int64_t>(1 + random.below(8))});
    }
    const std::vector<FairShareWait> found = fair_share_waits(jobs, held, quota);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto over = [&](Instant at) { return level_at(held, at) + jobs[i].gpus > quota; };
      std::int64_t fair = 0;
      for (Instant at = jobs[i].submit; at < jobs[i].start; at = at + Duration::seconds(1)) {
        if (over(at)) ++fair;
      }
      EXPECT_EQ(found[i].time, Duration::seconds(fair)) << round << " " << i;
      EXPECT_EQ(found[i].on_arrival, over(jobs[i].submit)) << round << " " << i;
    }
  }
}

TEST(GuessQuota, SecondBySecond) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Step> held = random_steps(random);
    if (held.empty()) {
      EXPECT_EQ(guess_quota(held, QuotaGuess::kP95), 0);
      continue;
    }
    std::vector<std::int64_t> levels;
    for (Instant at = held.front().at; at < held.back().at; at = at + Duration::seconds(1)) {
      levels.push_back(level_at(held, at));
    }
    std::sort(levels.begin(), levels.end());
    // The least level that is exceeded at most 5% of the time.
    std::int64_t expected = levels.back();
    for (const std::int64_t level : levels) {
      const auto above = std::count_if(levels.begin(), levels.end(),
                                       [&](std::int64_t other) { return other > level; });
      if (20 * above <= static_cast<std::int64_t>(levels.size())) {
        expected = level;
        break;
      }
    }
    EXPECT_EQ(guess_quota(held, QuotaGuess::kP95), expected) << round;
    EXPECT_EQ(guess_quota(held, QuotaGuess::kPeak), levels.back()) << round;
  }
}

struct NaiveEstimate {
  double waited = 0, on_arrival = 0, wait_s = 0, fair_s = 0;
};

TEST(WaitCauses, InferredQuotasSecondBySecond) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const History history = random_history(seed, 60);
    const Page page = study(history, nullptr, StudyOptions());
    std::map<std::uint32_t, std::vector<Step>> held;  // By tenant.
    for (const PastJob& job : history.jobs) {
      std::vector<Step>& changes = held[job.tenant];
      for (const Attempt& attempt : history.attempts_of(job)) {
        changes.push_back({attempt.start, job.gpus});
        changes.push_back({attempt.end, -job.gpus});
      }
    }
    std::int64_t together = 0;
    for (auto& [tenant, changes] : held) {
      changes = steps_of(std::move(changes));
      together += guess_quota(changes, QuotaGuess::kP95);
    }
    std::int64_t cluster = 0;
    for (const HistoryNode& node : history.nodes) cluster += node.gpus;
    NaiveEstimate all;
    NaiveEstimate largest;
    for (const PastJob& job : history.jobs) {
      if (job.attempt_count == 0) continue;
      const Instant start = history.attempts_of(job)[0].start;
      if (start == job.submit) continue;
      const std::vector<Step>& steps = held[job.tenant];
      std::int64_t quota = guess_quota(steps, QuotaGuess::kP95);
      if (together > cluster) quota = (2 * quota * cluster + together) / (2 * together);
      for (NaiveEstimate* sum : {&all, &largest}) {
        if (sum == &largest && job.gpus <= 8) continue;
        for (Instant at = job.submit; at < start; at = at + Duration::seconds(1)) {
          const bool over = level_at(steps, at) + job.gpus > quota;
          ++sum->wait_s;
          if (over) ++sum->fair_s;
          if (over && at == job.submit && job.run >= Duration::seconds(60)) ++sum->on_arrival;
        }
        if (job.run >= Duration::seconds(60)) ++sum->waited;
      }
    }
    const auto expect = [&](const char* row, const NaiveEstimate& of) {
      EXPECT_EQ(value_at(page, "wait-causes", row, "jobs that waited and ran a minute"), of.waited);
      EXPECT_NEAR(value_at(page, "wait-causes", row, "waiting (h)"), of.wait_s / 3600, 1e-9);
      if (of.waited == 0) return;
      EXPECT_NEAR(value_at(page, "wait-causes", row, "fair-share on arrival (%)"),
                  100 * of.on_arrival / of.waited, 1e-9);
      EXPECT_NEAR(value_at(page, "wait-causes", row, "fair-share time (%)"),
                  100 * of.fair_s / of.wait_s, 1e-9);
      EXPECT_NEAR(value_at(page, "wait-causes", row, "fragmentation time (%)"),
                  100 - 100 * of.fair_s / of.wait_s, 1e-9);
    };
    expect("all", all);
    expect(">8", largest);
  }
}

TEST(WaitCauses, QuotasThatAreGivenCount) {
  History history;
  history.knows = all_known();
  add_job(history, 0, 4);  // Holds all of a's quota until 100.
  add_attempt(history, 0, 100);
  add_job(history, 50, 2);  // Waits for 50 s over its quota, and 25 s more.
  add_attempt(history, 125, 300);
  TenantList list;
  list.tenants.resize(1);
  list.tenants[0].name = "a";
  list.tenants[0].quota = 4;
  const Result<TenantTree> tree = TenantTree::build(list);
  ASSERT_TRUE(tree.ok());
  StudyOptions options;
  options.tenants = &tree.value();
  const Page page = study(history, nullptr, options);
  EXPECT_TRUE(section_of(page, "wait-causes").missing.empty());
  EXPECT_EQ(value_at(page, "wait-causes", "2-4", "jobs that waited and ran a minute"), 1);
  EXPECT_DOUBLE_EQ(value_at(page, "wait-causes", "2-4", "fair-share on arrival (%)"), 100);
  EXPECT_NEAR(value_at(page, "wait-causes", "2-4", "fair-share time (%)"), 200 / 3.0, 1e-9);
  EXPECT_NEAR(value_at(page, "wait-causes", "all", "fragmentation time (%)"), 100 / 3.0, 1e-9);
  EXPECT_EQ(value_at(page, "quotas", "a", "quota (GPUs)"), 4);
}

TEST(WaitCauses, AsTheSourceTells) {
  History history;
  history.knows = all_known();
  history.knows.waits = true;
  add_job(history, 0, 1).run = Duration::seconds(60);
  add_job(history, 0, 16).run = Duration::seconds(59);
  history.waits.resize(2);
  history.waits[0][WaitCause::kFairShare] = Duration::seconds(30);
  history.waits[0].over_part_on_arrival = true;
  history.waits[1][WaitCause::kBackoff] = Duration::seconds(10);
  const Page page = study(history, nullptr, StudyOptions());
  EXPECT_DOUBLE_EQ(value_at(page, "wait-causes", "all", "fair-share (%)"), 75);
  EXPECT_DOUBLE_EQ(value_at(page, "wait-causes", ">8", "back-off (%)"), 100);
  EXPECT_DOUBLE_EQ(value_at(page, "wait-causes", "all", "over part on arrival (%)"), 100);
  EXPECT_EQ(value_at(page, "wait-causes", ">8", "over part on arrival (%)"), -1);
}

}  // namespace
}  // namespace muster
