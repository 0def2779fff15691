// Philly's scheduler on whole workloads.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "sim/run/simulator.h"
#include "tests/campaign.h"

namespace muster {
namespace {

void add_job(Trace& trace, Instant submit, std::int32_t gpus, Duration duration,
             const char* tenant = "") {
  TraceJob job;
  job.id = std::to_string(trace.jobs.size());
  job.submit = submit;
  job.gpus = gpus;
  job.duration = duration;
  job.tenant = trace.tenants.intern(tenant);
  trace.jobs.push_back(job);
}

// "a" has half of the GPUs, "b" a quarter and "c" nothing.
TenantTree three_tenants(std::int64_t gpus) {
  TenantList list;
  for (const auto& [name, quota] : {std::pair("a", gpus / 2), {"b", gpus / 4}, {"c", 0}}) {
    TenantSpec spec;
    spec.name = name;
    spec.quota = quota;
    list.tenants.push_back(spec);
  }
  return TenantTree::build(list).value();
}

// A small workload and Philly's settings, of every kind.
struct AnyRun {
  explicit AnyRun(std::uint64_t seed) {
    Random random(seed);
    const auto below = [&](int bound) {
      return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    const auto seconds = [&](int most) { return Duration::seconds(below(most)); };
    static constexpr const char* kClusters[] = {"2x4", "4x4,racks=2", "3x8,racks=3", "6x2,racks=2"};
    topology = parse_cluster_shorthand(kClusters[below(4)]).value();
    static constexpr const char* kTenants[] = {"a", "b", "c"};
    const bool shared = below(2) == 0;
    Instant now;
    for (int i = 0; i < 40; ++i) {
      now = now + seconds(300);
      const std::int32_t gpus = below(3) == 0 ? 1 : 1 + below(topology.total().gpus);
      add_job(trace, now, gpus, seconds(below(4) == 0 ? 6000 : 900),
              shared ? kTenants[below(3)] : "");
    }
    PhillyOptions philly;
    philly.acquire = Duration::seconds(1 + below(300));
    philly.back_off = Duration::seconds(1 + below(200));
    philly.relax_after = below(4);
    options.whole = philly;
    options.spread = below(2) == 0;
    options.history = true;
    options.check_invariants = true;
    options.min_run = seconds(200);
    if (below(3) == 0) options.round = Duration::seconds(60);
    if (shared) tenants = three_tenants(topology.total().gpus);
  }
  SimResult run() {
    options.tenants = tenants ? &*tenants : nullptr;
    return simulate(trace, topology, ProfileTable(), options);
  }

  Topology topology;
  Trace trace;
  std::optional<TenantTree> tenants;
  SimOptions options;
};

// How many GPUs the job holds from each moment on at which that changes.
std::map<Instant, std::int32_t> held(const SimResult& result, std::size_t job) {
  std::map<Instant, std::int32_t> change;
  for (const LeaseSpan& span : result.spans) {
    if (span.job != JobId(job) || span.begin == span.end) continue;
    change[span.begin] += std::popcount(span.slots);
    change[span.end] -= std::popcount(span.slots);
  }
  std::int32_t sum = 0;
  for (auto& [when, gpus] : change) gpus = sum += gpus;
  return change;
}

TEST(Sanity, J3_GangsNeverHoldPartOfTheirGpus) {
  int spread = 0;
  int waited = 0;
  int preempted = 0;
  int never_relaxed = 0;
  for (std::uint64_t seed = 0; seed < campaign_size(200, 200); ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    AnyRun any(seed);
    const SimResult result = any.run();
    ASSERT_EQ(result.jobs.size(), any.trace.jobs.size());
    for (std::size_t i = 0; i < result.jobs.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "job " << i);
      const JobOutcome& job = result.jobs[i];
      if (job.fate == JobResult::kRejected) {
        ASSERT_EQ(std::get<PhillyOptions>(any.options.whole).relax_after, 0) << job.why_rejected;
        ++never_relaxed;
        continue;
      }
      ASSERT_EQ(job.fate, JobResult::kFinished);
      for (const auto& [when, gpus] : held(result, i)) {
        ASSERT_TRUE(gpus == 0 || gpus == job.gpus)
            << "holds " << gpus << " of " << job.gpus << " GPUs at " << when.in_seconds();
      }
      Duration sum;
      for (const Duration each : job.waiting.by_cause) {
        ASSERT_GE(each, Duration());
        sum += each;
      }
      ASSERT_EQ(sum, job.wait());
      waited += job.wait() > Duration() ? 1 : 0;
      preempted += job.preemptions;
    }
    std::map<std::pair<JobId, Instant>, int> nodes;
    for (const LeaseSpan& span : result.spans) ++nodes[{span.job, span.begin}];
    spread += static_cast<int>(
        std::count_if(nodes.begin(), nodes.end(), [](const auto& it) { return it.second > 1; }));
  }
  // It would be no test if nothing of the sort came up.
  EXPECT_GT(spread, campaign_floor(1000));
  EXPECT_GT(waited, campaign_floor(1000));
  EXPECT_GT(preempted, campaign_floor(50));
  EXPECT_GT(never_relaxed, campaign_floor(10));
}

TEST(PhillyRun, IsTheSameEveryTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    AnyRun once(seed);
    AnyRun again(seed);
    EXPECT_EQ(once.run().digest, again.run().digest) << seed;
  }
}

// Scenes of one kind, one after the other, on two servers of four: two jobs take three GPUs of
// each, and a pair comes that asks for the first. The second server is free after 20 to 100 s, but
// the pair looks there only when its time is over.
std::vector<Duration> waits_of_pairs(Duration acquire) {
  Trace trace;
  Random random(7);
  for (int scene = 0; scene < 50; ++scene) {
    const Instant begin = Instant::at(Duration::seconds(4000) * scene);
    add_job(trace, begin, 3, Duration::seconds(2000));
    add_job(trace, begin, 3, Duration::seconds(20 + static_cast<std::int64_t>(random.below(80))));
    add_job(trace, begin, 2, Duration::seconds(100));
  }
  SimOptions options;
  options.whole = PhillyOptions{};
  std::get<PhillyOptions>(options.whole).acquire = acquire;
  const Topology topology = parse_cluster_shorthand("2x4").value();
  const SimResult result = simulate(trace, topology, ProfileTable(), options);
  std::vector<Duration> waits;
  for (std::size_t i = 2; i < result.jobs.size(); i += 3) waits.push_back(result.jobs[i].wait());
  return waits;
}

TEST(PhillyRun, WaitingTimesHaveAStepAtTheAcquireTimeout) {
  for (const std::int64_t timeout : {180, 120, 240}) {
    const std::vector<Duration> waits = waits_of_pairs(Duration::seconds(timeout));
    const auto part_within = [&](std::int64_t seconds) {
      return static_cast<double>(
                 std::count_if(waits.begin(), waits.end(),
                               [&](Duration wait) { return wait <= Duration::seconds(seconds); })) /
             static_cast<double>(waits.size());
    };
    EXPECT_EQ(part_within(timeout - 1), 0) << timeout;
    EXPECT_EQ(part_within(timeout), 1) << timeout;
  }
}

// Two servers, one GPU of each for the pair. Strict: it waits until one is whole and runs at full
// speed; relaxed: it starts at once at its second try, slower for being spread beside others.
TEST(PhillyRun, StrictLocalityWaitsLongerAndRunsFaster) {
  Trace trace;
  for (int i = 0; i < 2; ++i) add_job(trace, Instant(), 3, Duration::seconds(2050));
  add_job(trace, Instant(), 2, Duration::seconds(1000));
  SimOptions options;
  options.spread = true;
  options.whole = PhillyOptions{};
  std::get<PhillyOptions>(options.whole).relax_after = 0;
  const Topology topology = parse_cluster_shorthand("2x4").value();
  const JobOutcome strict = simulate(trace, topology, ProfileTable(), options).jobs[2];
  std::get<PhillyOptions>(options.whole).relax_after = 2;
  const JobOutcome relaxed = simulate(trace, topology, ProfileTable(), options).jobs[2];
  EXPECT_EQ(strict.wait(), Duration::seconds(2100)) << "backing off from 1980 to 2100";
  EXPECT_EQ(strict.run, Duration::seconds(1000));
  EXPECT_EQ(relaxed.wait(), Duration::seconds(480));
  EXPECT_NEAR(relaxed.run.in_seconds(), 1000 / (0.85 * 75.6 / 98.0), 0.01);
}

// The neighbour ends when the pair has been at it for 520 s; from then on it is alone.
TEST(PhillyRun, AGangIsFasterOnceItsNeighboursAreGone) {
  Trace trace;
  for (int i = 0; i < 2; ++i) add_job(trace, Instant(), 3, Duration::seconds(1000));
  add_job(trace, Instant(), 2, Duration::seconds(1000));
  SimOptions options;
  options.spread = true;
  options.whole = PhillyOptions{};
  std::get<PhillyOptions>(options.whole).relax_after = 2;
  const Topology topology = parse_cluster_shorthand("2x4").value();
  const JobOutcome pair = simulate(trace, topology, ProfileTable(), options).jobs[2];
  EXPECT_EQ(pair.wait(), Duration::seconds(480));
  const double done = 520 * 0.85 * 75.6 / 98.0;
  EXPECT_NEAR(pair.run.in_seconds(), 520 + (1000 - done) / 0.85, 0.01);
}

}  // namespace
}  // namespace muster
