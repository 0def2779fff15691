#include "study/compare/gantt.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Instant at(std::int64_t seconds) { return Instant::at(Duration::seconds(seconds)); }

// The given number of leases of a whole node with 8 GPUs, one hour each, one after the other.
RunFiles run_of(std::uint32_t leases) {
  RunFiles run;
  run.name = "run";
  run.history.nodes.push_back({"s0", 8, 0, 0});
  for (std::uint32_t i = 0; i < leases; ++i) {
    PastJob job;
    job.id = run.history.ids.intern("j" + std::to_string(i));
    job.gpus = 8;
    job.attempts = i;
    job.attempt_count = 1;
    run.history.jobs.push_back(job);
    Attempt attempt;
    attempt.start = at(std::int64_t{3600} * i);
    attempt.end = attempt.start + Duration::seconds(3600);
    attempt.run = Duration::seconds(3600);
    attempt.hosts = i;
    attempt.host_count = 1;
    run.history.attempts.push_back(attempt);
    run.history.hosts.push_back({0, 0xff});
  }
  return run;
}

TEST(Gantt, ShowsAsMuchFromTheMiddleAsABrowserDraws) {
  const std::uint32_t leases = 10'000;
  const std::vector<RunFiles> runs = {run_of(leases + 2000), run_of(leases)};
  const Stretch window = stretch_for(refs_to(runs));
  const Gantt gantt = gantt_of(runs[1], "g", window);
  EXPECT_EQ(gantt_of(runs[0], "g", window).begin, gantt.begin);  // The same for all.
  EXPECT_LE(gantt.bars.size(), kMaxGanttBars);
  EXPECT_GT(gantt.bars.size(), kMaxGanttBars / 2);
  const double middle = 3600.0 * leases / 2;
  EXPECT_NEAR((gantt.begin + gantt.end) / 2, middle, 1);
  EXPECT_NE(gantt.thinned, "");
  for (const Gantt::Bar& bar : gantt.bars) {
    EXPECT_LT(bar.begin, gantt.end);
    EXPECT_GT(bar.end, gantt.begin);
  }
}

TEST(Gantt, AWindowTooWideIsCutAndSaidSo) {
  const Gantt gantt = gantt_of(run_of(10'000), "g", {at(0), at(3600 * 10'000)});
  EXPECT_EQ(gantt.bars.size(), kMaxGanttBars);
  EXPECT_EQ(gantt.thinned,
            "the last 7,500 leases in the window are not drawn, to keep the page fast");
}

// It ran, but where and when is unknown.
TEST(Gantt, AnAttemptInThePreRunIsNotShown) {
  std::vector<RunFiles> runs = {run_of(3)};
  Attempt attempt;
  attempt.failed = true;
  PastJob job;
  job.id = runs[0].history.ids.intern("caught");
  job.attempts = static_cast<std::uint32_t>(runs[0].history.attempts.size());
  job.attempt_count = 1;
  runs[0].history.attempts.push_back(attempt);
  runs[0].history.jobs.push_back(job);
  const Stretch window = stretch_for(refs_to(runs));
  EXPECT_EQ(window.end, at(3 * 3600));
  EXPECT_EQ(gantt_of(runs[0], "g", window).bars.size(), 24u);
}

TEST(Gantt, NothingHeldIsNothingShown) {
  const std::vector<RunFiles> runs = {run_of(0)};
  const Gantt gantt = gantt_of(runs[0], "g", stretch_for(refs_to(runs)));
  EXPECT_TRUE(gantt.bars.empty());
  EXPECT_EQ(gantt.begin, 0);
  EXPECT_EQ(gantt.end, 0);
}

}  // namespace
}  // namespace muster
