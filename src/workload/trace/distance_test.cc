#include "workload/trace/distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/types/random.h"

namespace muster {
namespace {

using Values = std::vector<std::int64_t>;

// Computes both cumulative distributions at each value by counting.
double naive_distance(const Values& a, const Values& b) {
  const auto part = [](const Values& values, std::int64_t limit) {
    const auto within =
        std::count_if(values.begin(), values.end(), [&](std::int64_t v) { return v <= limit; });
    return static_cast<double>(within) / static_cast<double>(values.size());
  };
  double most = 0;
  for (const Values& both : {a, b}) {
    for (const std::int64_t value : both) {
      most = std::max(most, std::abs(part(a, value) - part(b, value)));
    }
  }
  return most;
}

TEST(Distance, IsKnownForAFew) {
  EXPECT_EQ(ks_distance({}, {}), 0);
  EXPECT_EQ(ks_distance({}, {1}), 1);
  EXPECT_EQ(ks_distance({5}, {5, 5, 5}), 0);
  EXPECT_EQ(ks_distance({1, 2}, {3, 4}), 1);
  EXPECT_EQ(ks_distance({3, 4}, {2, 1}), 1);
  EXPECT_EQ(ks_distance({1, 1, 1, 2}, {1, 2}), 0.25);
  EXPECT_EQ(ks_distance({1, 2, 3, 4}, {4, 2}), 0.25);
}

TEST(Distance, AgreesWithItsNaiveTwin) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t range = 1 + random.below(40);  // Ties are frequent.
    const auto draw = [&] {
      Values values(1 + random.below(30));
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(random.below(range));
      return values;
    };
    const Values a = draw();
    const Values b = draw();
    ASSERT_EQ(ks_distance(a, b), naive_distance(a, b)) << round;
    ASSERT_EQ(ks_distance(a, b), ks_distance(b, a)) << round;
  }
}

Trace trace_of(std::vector<std::array<std::int64_t, 3>> jobs) {
  Trace trace;
  trace.source = "a.csv";
  trace.format = "muster";
  for (const auto& [submit, gpus, duration] : jobs) {
    TraceJob job;
    job.submit = Instant::at(Duration::seconds(submit));
    job.gpus = static_cast<std::int32_t>(gpus);
    job.duration = Duration::seconds(duration);
    trace.jobs.push_back(job);
  }
  return trace;
}

TEST(Distance, ComparesWhatMattersOfTraces) {
  const Trace a = trace_of({{0, 1, 10}, {10, 1, 20}, {20, 2, 30}, {30, 2, 3600}});
  const Trace b = trace_of({{7, 1, 20}, {17, 1, 10}, {27, 1, 3600}, {40, 2, 30}});
  const TraceDistance distance = distance_between(a, b);
  EXPECT_EQ(distance.durations, 0);
  EXPECT_EQ(distance.gpus, 0.25);
  EXPECT_NEAR(distance.gaps, 1.0 / 3, 1e-12);
  EXPECT_EQ(distance_between(a, a).gaps, 0);
  EXPECT_EQ(distance_text(a, b), R"(a.csv  (muster)
against a.csv  (muster)

                        this        that    distance
  jobs                     4           4
  run time p50        30.0 s      30.0 s      0.0000
  run time p90      60.0 min    60.0 min
  on 1 GPU             50.0%       75.0%      0.2500
  gap p50             10.0 s      10.0 s      0.3333
  gap p90             10.0 s      13.0 s
)");
}

TEST(Distance, TakesTracesWithoutJobs) {
  EXPECT_EQ(distance_between(Trace(), Trace()).durations, 0);
  EXPECT_EQ(distance_between(Trace(), trace_of({{0, 1, 1}})).durations, 1);
  EXPECT_FALSE(distance_text(Trace(), Trace()).empty());
}

}  // namespace
}  // namespace muster
