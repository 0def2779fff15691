// Checks our claims about the mechanisms, on workloads of Synergy's generator with the built-in
// zoo.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/mechanism/blend.h"
#include "engine/mechanism/opt.h"
#include "engine/mechanism/tune.h"
#include "engine/placement/consolidate.h"
#include "sim/results/summary.h"
#include "sim/run/simulator.h"
#include "workload/generate/generator.h"
#include "workload/input/profiles_file.h"
#include "workload/trace/reader.h"

#include "data.h"

namespace muster {
namespace {

Trace workload(std::int64_t jobs, double rate, const char* mix, std::uint64_t seed) {
  GeneratorOptions options;
  options.jobs = jobs;
  options.jobs_per_hour = rate;
  options.gpu_mix = parse_gpu_mix(mix).value();
  options.seed = seed;
  return generate_trace(options, builtin_profiles()).value();
}

SimResult run(const Trace& trace, const char* cluster, SimOptions options) {
  const Topology topology = parse_cluster_shorthand(cluster).value();
  options.round = Duration::seconds(300);
  return simulate(trace, topology, builtin_profiles(), options);
}

double mean_jct_h(const SimResult& result, const char* cluster, Window window) {
  const Topology topology = parse_cluster_shorthand(cluster).value();
  const Summary summary = summarize(result, topology, window);
  EXPECT_EQ(summary.finished, summary.jobs);
  return summary.jct.mean.in_hours();
}

// The main result of the paper: at a load where proportional shares saturate (above 7.6 jobs per
// hour on 128 GPUs) and tuned shares do not, jobs finish more than three times faster.
TEST(SynergyClaims, TuneIsThreeTimesFasterWhereProportionalSaturates) {
  const Trace trace = workload(5000, 9, "single", 42);
  const Window steady{4000, 5000};
  SimOptions options;
  const double proportional = mean_jct_h(run(trace, "16x8", options), "16x8", steady);
  options.parts.mechanism = "tune";
  const double tune = mean_jct_h(run(trace, "16x8", options), "16x8", steady);
  options.parts.mechanism = "blend";
  const double blend = mean_jct_h(run(trace, "16x8", options), "16x8", steady);
  EXPECT_GT(proportional / tune, 3.0);
  EXPECT_GT(tune, 14.0);  // The paper's own simulator gives 21.9 h, and 22.4 h with another seed.
  EXPECT_LT(tune, 25.0);
  EXPECT_LE(blend, tune);
}

// The paper's static experiment: opt is a bound under Synergy's rules, and blend beats tune under
// ours.
TEST(SynergyClaims, OptAndBlendAreNoWorseThanTuneOnTheStaticTrace) {
  const std::optional<std::string> path = data_file("synergy_static_100job.txt");
  if (!path) GTEST_SKIP() << "synergy_static_100job.txt not found; set MUSTER_DATA";
  const ProfileTable profiles = builtin_profiles();
  const Trace trace = read_trace(*path, "", profiles).value();
  constexpr const char* kCluster = "4x8,cpus=24,mem=500";
  const auto measured = [&](const char* mechanism, Compat compat) {
    SimOptions options;
    options.parts.mechanism = mechanism;
    options.compat = compat;
    if (compat == Compat::kSynergy) options.parts.placement = "first-fit";
    const Summary summary =
        summarize(run(trace, kCluster, options), parse_cluster_shorthand(kCluster).value());
    EXPECT_EQ(summary.finished, 100u);
    return std::pair(summary.jct.mean, summary.makespan);
  };
  const auto their_tune = measured("tune", Compat::kSynergy);
  const auto their_opt = measured("opt", Compat::kSynergy);
  EXPECT_LE(their_opt.first, their_tune.first);
  EXPECT_LE(their_opt.second, their_tune.second);
  const auto our_tune = measured("tune", Compat::kNone);
  const auto our_blend = measured("blend", Compat::kNone);
  EXPECT_LE(our_blend.first, std::min(our_tune.first, their_tune.first));
  EXPECT_LE(our_blend.second, std::min(our_tune.second, their_tune.second));
}

// For each plan, computes both results from the same state and continues with the one of blend.
class Rivals final : public Mechanism {
 public:
  explicit Rivals(int* rounds) : rounds_(rounds) {}
  bool adaptive() const override { return true; }
  void place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
             Ask& ask) const override {
    blend_.place(cluster, placer, ledger, ask);
  }
  void rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                 std::span<Ask> asks) override {
    ResourceLedger for_tune = ledger;
    std::vector<Ask> tuned(asks.begin(), asks.end());
    Tune().rebalance(cluster, placer, for_tune, tuned);
    blend_.rebalance(cluster, placer, ledger, asks);
    double tune_speed = 0;
    double blend_speed = 0;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      if (!tuned[i].given.empty()) tune_speed += cluster.speed(*asks[i].spec, tuned[i].given);
      if (!asks[i].given.empty()) blend_speed += cluster.speed(*asks[i].spec, asks[i].given);
    }
    ++*rounds_;
    EXPECT_GE(blend_speed, tune_speed - 1e-9) << "round " << *rounds_;
  }

 private:
  Blend blend_;
  int* rounds_;
};

TEST(BlendClaims, NoRoundOfAnyTestWorkloadGivesLessThanTune) {
  for (const char* mix : {"single", "multi"}) {
    for (const char* policy : {"fifo", "srtf", "las"}) {
      SCOPED_TRACE(testing::Message() << policy << " on " << mix);
      int rounds = 0;
      SimOptions options;
      options.parts.policy = policy;
      options.mechanism = [&rounds] { return std::make_unique<Rivals>(&rounds); };
      const Trace trace = workload(400, mix[0] == 's' ? 8 : 4, mix, 7);
      const SimResult result = run(trace, "8x8", options);
      EXPECT_GT(rounds, 100);
      EXPECT_TRUE(std::all_of(result.jobs.begin(), result.jobs.end(), [](const JobOutcome& job) {
        return job.fate == JobResult::kFinished;
      }));
    }
  }
}

// Returns jobs of a generated workload that fill the cluster.
std::vector<JobSpec> full_load(const Topology& topology, const ProfileTable& profiles,
                               const char* mix, std::uint64_t seed) {
  const Trace trace = workload(topology.total().gpus, 9, mix, seed);
  std::vector<JobSpec> specs;
  std::int32_t left = topology.total().gpus;
  for (const TraceJob& job : trace.jobs) {
    if (job.gpus > left) continue;
    left -= job.gpus;
    JobSpec spec;
    spec.gpus = job.gpus;
    spec.profile = profiles.find(trace.models[job.model]);
    specs.push_back(spec);
  }
  return specs;
}

TEST(BlendClaims, ReachesNinetySevenPercentOfTheBoundAt128Gpus) {
  const Topology topology = parse_cluster_shorthand("16x8").value();
  const ProfileTable profiles = builtin_profiles();
  const Cluster cluster(topology, profiles);
  for (const char* mix : {"single", "multi"}) {
    SCOPED_TRACE(mix);
    double sum = 0;
    constexpr int kSeeds = 15;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const std::vector<JobSpec> specs = full_load(topology, profiles, mix, seed);
      std::vector<Ask> asks(specs.size());
      std::vector<const JobSpec*> pointers;
      for (std::size_t i = 0; i < specs.size(); ++i) {
        asks[i].job = JobId(i);
        asks[i].spec = &specs[i];
        pointers.push_back(&specs[i]);
      }
      ResourceLedger ledger(topology, Pooling::kPerNode);
      Blend().rebalance(cluster, Consolidate(), ledger, asks);
      double speed = 0;
      for (const Ask& ask : asks) speed += cluster.speed(*ask.spec, ask.given);
      sum += speed / plan_combined_node(cluster, pointers, topology.total().cpu_milli,
                                        topology.total().mem_mib)
                         .speed;
    }
    EXPECT_GE(sum / kSeeds, 0.97);
  }
}

}  // namespace
}  // namespace muster
