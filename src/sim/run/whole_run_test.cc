// Gandiva's and Optimus' schedulers on whole workloads, with everything on that can go wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "sim/run/simulator.h"
#include "tests/campaign.h"

namespace muster {
namespace {

// Two models that pack well, one that does not, and one without a profile of pairs.
ProfileTable four_models() {
  ProfileTable table;
  for (const char* const name : {"light", "small", "heavy", "other"}) {
    Profile profile = Profile::unknown(name);
    profile.state_gpu_use(std::string_view(name) == "heavy" ? 0.95 : 0.4);
    if (std::string_view(name) == "heavy") profile.state_loss({0, 0.5, 0.1});  // Never converges.
    MUSTER_CHECK(table.add(std::move(profile)).ok());
  }
  return table;
}

PairTable pairs_of(const ProfileTable& profiles) {
  PairTable pairs;
  const ProfileId light = profiles.find("light");
  const ProfileId small = profiles.find("small");
  const ProfileId heavy = profiles.find("heavy");
  for (const std::int32_t gpus : {1, 2, 4}) {
    pairs.add(light, light, gpus, {0.8, 0.8});
    pairs.add(light, small, gpus, {0.9, 0.7});
    pairs.add(small, small, gpus, {0.7, 0.7});
    pairs.add(light, heavy, gpus, {0.3, 0.4});
    pairs.add(heavy, heavy, gpus, {0, 0});
  }
  return pairs;
}

struct AnyWholeRun {
  AnyWholeRun(std::uint64_t seed, bool optimus) {
    Random random(seed);
    const auto below = [&](int bound) {
      return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
    };
    static constexpr const char* kClusters[] = {"2x4", "4x4,racks=2", "3x8,racks=3", "6x2,racks=2"};
    topology = parse_cluster_shorthand(kClusters[below(4)]).value();
    static constexpr const char* kTenants[] = {"a", "b"};
    static constexpr const char* kModels[] = {"light", "small", "heavy", "other", ""};
    const bool shared = below(2) == 0;
    Instant now;
    for (int i = 0; i < 40; ++i) {
      now = now + Duration::seconds(below(300));
      TraceJob job;
      job.id = std::to_string(i);
      job.submit = now;
      job.gpus = below(3) > 0 ? 1 << below(3) : 1 + below(topology.total().gpus);
      job.duration = Duration::seconds(below(below(4) == 0 ? 20000 : 2000));
      job.model = trace.models.intern(kModels[below(5)]);
      job.tenant = trace.tenants.intern(shared ? kTenants[below(2)] : "");
      if (below(4) == 0) {
        job.fewest = 1 + below(job.gpus);
        job.most = job.gpus + below(4);
      }
      trace.jobs.push_back(job);
    }
    if (optimus) {
      options.whole = OptimusOptions{};
      options.round = Duration::seconds(600);
      if (below(2) == 0) options.elastic = ElasticRange{1, 1 + below(8)};
    } else {
      GandivaOptions gandiva;
      gandiva.most_jobs = 1 + below(4);
      options.whole = gandiva;
      if (below(3) > 0) options.pairs = &pairs;
    }
    options.spread = below(2) == 0;
    options.history = true;
    options.check_invariants = true;
    options.min_run = Duration::seconds(below(400));
    options.seed = seed;
    if (below(3) == 0) options.failures.faults.rate = 1;
    if (below(4) == 0) options.failures.nodes.mtbf = Duration::seconds(20000);
    if (shared) {
      TenantList list;
      for (const char* const name : kTenants) {
        TenantSpec spec;
        spec.name = name;
        spec.quota = topology.total().gpus / 2;
        list.tenants.push_back(spec);
      }
      tenants = TenantTree::build(list).value();
    }
  }
  SimResult run() {
    options.tenants = tenants ? &*tenants : nullptr;
    return simulate(trace, topology, profiles, options);
  }

  ProfileTable profiles = four_models();
  PairTable pairs = pairs_of(profiles);
  Topology topology;
  Trace trace;
  std::optional<TenantTree> tenants;
  SimOptions options;
};

struct Seen {
  int shared = 0;
  int moved = 0;
  int resized = 0;
  int failed = 0;
  int killed = 0;
};

void check_run(AnyWholeRun& any, Seen& seen) {
  const SimResult result = any.run();
  std::map<JobId, std::map<Instant, std::int32_t>> sizes;  // By lease.
  for (const LeaseSpan& span : result.spans) {
    sizes[span.job][span.begin] += std::popcount(span.slots);
  }
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "job " << i);
    const JobOutcome& job = result.jobs[i];
    seen.failed += job.fate == JobResult::kFailed ? 1 : 0;
    if (job.fate == JobResult::kFailed) continue;
    seen.killed += job.fate == JobResult::kKilled ? 1 : 0;
    ASSERT_TRUE(job.has_ended()) << job.why_rejected;
    Duration sum;
    for (const Duration each : job.waiting.by_cause) {
      ASSERT_GE(each, Duration());
      sum += each;
    }
    ASSERT_EQ(sum, job.wait());
    seen.moved += job.migrations;
    const TraceJob& traced = any.trace.jobs[i];
    for (const auto& [begin, gpus] : sizes[JobId(i)]) {
      std::int32_t fewest = traced.fewest > 0 ? traced.fewest : traced.gpus;
      std::int32_t most = std::max(traced.most, traced.gpus);
      if (any.options.elastic) {
        fewest = std::min(any.options.elastic->fewest, traced.gpus);
        most = std::max(any.options.elastic->most, traced.gpus);
      }
      ASSERT_GE(gpus, fewest);
      ASSERT_LE(gpus, most);
      seen.resized += gpus != traced.gpus ? 1 : 0;
    }
  }
  // No more GPU time than there was, though leases overlap.
  Instant last;
  for (const LeaseSpan& span : result.spans) last = std::max(last, span.end);
  ASSERT_LE(result.gpu_us, any.topology.total().gpus * last.us());
  std::int64_t spans = 0;
  for (const LeaseSpan& span : result.spans) {
    spans += (span.end - span.begin).us() * std::popcount(span.slots);
  }
  ASSERT_LE(result.gpu_us, spans);
  seen.shared += result.gpu_us < spans ? 1 : 0;
}

void check_runs(bool optimus, Seen& seen) {
  for (std::uint64_t seed = 0; seed < campaign_size(150, 150); ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    AnyWholeRun any(seed, optimus);
    ASSERT_NO_FATAL_FAILURE(check_run(any, seen));
  }
  EXPECT_GT(seen.moved, campaign_floor(100));
  EXPECT_GT(seen.failed, campaign_floor(20));
  EXPECT_GT(seen.killed, campaign_floor(20));
}

TEST(WholeRun, GandivaEndsEveryJobAndAccountsForAllTime) {
  Seen seen;
  ASSERT_NO_FATAL_FAILURE(check_runs(/*optimus=*/false, seen));
  EXPECT_GT(seen.shared, campaign_floor(50));
  EXPECT_GT(seen.resized, campaign_floor(50));
}

TEST(WholeRun, OptimusEndsEveryJobAndAccountsForAllTime) {
  Seen seen;
  ASSERT_NO_FATAL_FAILURE(check_runs(/*optimus=*/true, seen));
  EXPECT_EQ(seen.shared, 0);
  EXPECT_GT(seen.resized, campaign_floor(500));
}

TEST(WholeRun, IsTheSameEveryTime) {
  for (const bool optimus : {false, true}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      AnyWholeRun once(seed, optimus);
      AnyWholeRun again(seed, optimus);
      EXPECT_EQ(once.run().digest, again.run().digest) << seed;
    }
  }
}

// Two jobs of 590 s on one GPU at the same time: turns of 60 s of which one second goes into the
// switch, so that each has ten; but the second is alone by its last, and nothing is switched.
TEST(WholeRun, TwoJobsOnOneGpuTakeTurns) {
  Trace trace;
  for (int i = 0; i < 2; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    job.duration = Duration::seconds(590);
    trace.jobs.push_back(job);
  }
  SimOptions options;
  options.whole = GandivaOptions{};
  const Topology topology = parse_cluster_shorthand("1x1").value();
  const SimResult result = simulate(trace, topology, ProfileTable(), options);
  EXPECT_EQ(result.jobs[0].end, Instant::at(Duration::seconds(1140)));
  EXPECT_EQ(result.jobs[1].end, Instant::at(Duration::seconds(1199)));
  EXPECT_EQ(result.jobs[1].wait(), Duration());
  EXPECT_EQ(result.gpu_us, 1'199'000'000);
}

// Two gangs of two nodes, time-sliced on the same GPUs. Each runs at 0.85 of its speed, because it
// is spread. They do not compete for the network, because only one of them runs at a time.
TEST(WholeRun, TimeSlicedGangsDoNotSlowEachOtherDown) {
  Trace trace;
  for (int i = 0; i < 2; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    job.gpus = 8;
    job.duration = Duration::seconds(59 * 85);
    trace.jobs.push_back(job);
  }
  SimOptions options;
  options.whole = GandivaOptions{};
  options.spread = true;
  const Topology topology = parse_cluster_shorthand("2x4").value();
  const SimResult result = simulate(trace, topology, ProfileTable(), options);
  EXPECT_EQ(result.jobs[0].migrations + result.jobs[1].migrations, 0);
  // 100 slices of 60 s for each job; the last one needs no switch.
  EXPECT_NEAR(result.jobs[1].end.in_seconds(), 2 * 100 * 60, 60);
}

// Jobs that arrive at random and would use `load` of 64 GPUs without any delay. Most run for
// minutes, some for many hours.
Trace gangs_and_small_jobs(double load, std::uint64_t seed) {
  constexpr std::int32_t kSizes[] = {1, 1, 1, 1, 2, 4, 8, 8, 8, 16};
  constexpr int kJobs = 1500;
  Random random(seed);
  Trace trace;
  double work = 0;
  for (int i = 0; i < kJobs; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    job.gpus = kSizes[random.below(std::size(kSizes))];
    const double exponent = random.below(5) == 0 ? random.uniform(5, 9) : random.uniform(0, 5);
    job.duration = Duration::seconds(
        static_cast<std::int64_t>(600 * portable_exp(exponent * std::numbers::ln2)));
    work += job.duration.in_seconds() * job.gpus;
    trace.jobs.push_back(job);
  }
  const double span = work / (load * 64);
  std::vector<double> arrivals;
  for (int i = 0; i < kJobs; ++i) arrivals.push_back(random.uniform(0, span));
  std::sort(arrivals.begin(), arrivals.end());
  for (int i = 0; i < kJobs; ++i) {
    const auto index = static_cast<std::size_t>(i);
    trace.jobs[index].submit = Instant::micros(static_cast<std::int64_t>(arrivals[index] * 1e6));
  }
  return trace;
}

double mean_completion_time(const Trace& trace, SimOptions options) {
  options.spread = true;
  options.min_run = Duration::seconds(300);
  const SimResult result =
      simulate(trace, parse_cluster_shorthand("16x4").value(), ProfileTable(), options);
  double sum = 0;
  for (const JobOutcome& job : result.jobs) sum += (job.end - job.submit).in_seconds();
  return sum / static_cast<double>(result.jobs.size());
}

// At 70% load, moves keep gangs together. At 100%, more than four jobs per GPU take turns.
TEST(WholeRun, GandivaIsNotWorseThanPhilly) {
  SimOptions gandiva;
  gandiva.whole = GandivaOptions{};
  SimOptions philly;
  philly.whole = PhillyOptions{};
  for (const double load : {0.4, 0.7, 1.0}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const Trace trace = gangs_and_small_jobs(load, seed);
      const double ours = mean_completion_time(trace, gandiva);
      const double theirs = mean_completion_time(trace, philly);
      EXPECT_LE(ours, theirs) << "load " << load << ", seed " << seed;
    }
  }
}

// A pair that keeps 80% each is worth packing: 1000 s of work take 1250 s rather than over 2000.
TEST(WholeRun, PackingIsTriedMeasuredAndKeptOrUndone) {
  const ProfileTable profiles = four_models();
  const PairTable pairs = pairs_of(profiles);
  const auto last_end = [&](const char* a, const char* b) {
    Trace trace;
    for (const char* const model : {a, b}) {
      TraceJob job;
      job.id = model;
      job.duration = Duration::seconds(3000);
      job.model = trace.models.intern(model);
      trace.jobs.push_back(job);
    }
    SimOptions options;
    options.whole = GandivaOptions{};
    options.pairs = &pairs;
    const SimResult result =
        simulate(trace, parse_cluster_shorthand("1x1").value(), profiles, options);
    return std::max(result.jobs[0].end, result.jobs[1].end).in_seconds();
  };
  EXPECT_LT(last_end("light", "light"), 4000);
  EXPECT_GT(last_end("light", "heavy"), 6000);  // 0.7 in total: time slices are better.
  EXPECT_GT(last_end("light", "other"), 6000);  // This pair was not measured.
  EXPECT_GT(last_end("heavy", "heavy"), 6000);  // They do not fit.
}

}  // namespace
}  // namespace muster
