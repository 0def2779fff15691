// Measures one plan from scratch of the mechanisms that recompute the share of every job. No job
// runs yet, and the jobs request all GPUs. Jobs have the generator's default split and the built-in
// models.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/types/check.h"
#include "engine/core/mechanism.h"
#include "engine/mechanism/blend.h"
#include "engine/mechanism/opt.h"
#include "engine/mechanism/tune.h"
#include "engine/placement/consolidate.h"
#include "workload/generate/generator.h"
#include "workload/input/profiles_file.h"

namespace muster {
namespace {

// Nodes of 8 GPUs, 24 CPUs and 500 GB, and the jobs that fill them.
struct FullLoad {
  FullLoad(std::int64_t gpus, std::string_view mix)
      : topology(parse_cluster_shorthand(std::to_string(gpus / 8) + "x8").value()),
        profiles(builtin_profiles()),
        cluster(topology, profiles) {
    GeneratorOptions options;
    options.jobs = gpus;
    options.gpu_mix = parse_gpu_mix(mix).value();
    options.static_arrivals = true;
    const Trace trace = generate_trace(options, profiles).value();
    std::int64_t left = gpus;
    for (const TraceJob& job : trace.jobs) {
      if (job.gpus > left) continue;
      JobSpec spec;
      spec.gpus = job.gpus;
      spec.profile = profiles.find(trace.models[job.model]);
      specs.push_back(spec);
      left -= job.gpus;
    }
  }

  std::vector<Ask> asks() const {
    std::vector<Ask> all(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      all[i].job = JobId(i);
      all[i].spec = &specs[i];
      all[i].salt = i;
    }
    return all;
  }

  // Returns the sum of the job speeds. Checks that every job was placed.
  double plan(Mechanism& mechanism) const {
    std::vector<Ask> all = asks();
    ResourceLedger ledger(topology, mechanism.pooling());
    mechanism.rebalance(cluster, Consolidate(), ledger, all);
    double speed = 0;
    for (const Ask& ask : all) {
      MUSTER_CHECK(!ask.given.empty());
      speed += cluster.speed(*ask.spec, ask.given);
    }
    return speed;
  }

  Topology topology;
  ProfileTable profiles;
  Cluster cluster;
  std::vector<JobSpec> specs;
};

// Reports the quality of the plans: speed per job, relative to the proportional share.
void report(benchmark::State& state, const FullLoad& load, double speed) {
  const auto jobs = static_cast<double>(load.specs.size());
  state.counters["jobs"] = jobs;
  state.counters["speed_per_job"] = speed / jobs;
}

void BM_TunePlanFromScratch(benchmark::State& state) {
  const FullLoad load(state.range(0), state.range(1) == 0 ? "single" : "multi");
  double speed = 0;
  for (auto _ : state) {
    Tune tune;
    speed = load.plan(tune);
  }
  report(state, load, speed);
}
BENCHMARK(BM_TunePlanFromScratch)
    ->ArgNames({"gpus", "multi"})
    ->ArgsProduct({{128, 512, 2048, 10'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

// Starts with an empty cache of solved nodes, as in the first plan of a run.
void BM_BlendPlan(benchmark::State& state) {
  const FullLoad load(state.range(0), "multi");
  double speed = 0;
  for (auto _ : state) {
    Blend blend;
    speed = load.plan(blend);
  }
  report(state, load, speed);
}
BENCHMARK(BM_BlendPlan)->Arg(32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

// Measures a later plan: the cache contains the job mixes of most nodes.
void BM_BlendPlanAgain(benchmark::State& state) {
  const FullLoad load(state.range(0), "multi");
  Blend blend;
  double speed = load.plan(blend);
  for (auto _ : state) speed = load.plan(blend);
  report(state, load, speed);
}
BENCHMARK(BM_BlendPlanAgain)->Arg(32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

// Program 1 of opt: an upper bound for all plans.
void BM_SuperNodeBound(benchmark::State& state) {
  const FullLoad load(state.range(0), "multi");
  std::vector<const JobSpec*> specs;
  for (const JobSpec& spec : load.specs) specs.push_back(&spec);
  const Resources& total = load.topology.total();
  double speed = 0;
  for (auto _ : state) {
    speed = plan_combined_node(load.cluster, specs, total.cpu_milli, total.mem_mib).speed;
  }
  report(state, load, speed);
}
BENCHMARK(BM_SuperNodeBound)->Arg(32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster
