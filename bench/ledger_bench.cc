// Measures how fast a placement is found on a crowded cluster, the inner step of every plan. The
// cost should hardly depend on the number of nodes, because the ledger indexes nodes by free GPUs.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "engine/core/placer.h"
#include "engine/placement/consolidate.h"
#include "engine/placement/first_fit.h"

namespace muster {
namespace {

constexpr std::int32_t kGpusPerNode = 8;

// Nodes of 8 GPUs, about 9 of 10 GPUs in use: one node in 16 is idle, the others have 0 to 2 free
// GPUs.
struct CrowdedCluster {
  explicit CrowdedCluster(std::int64_t nodes)
      : topology(parse_cluster_shorthand(std::to_string(nodes) + "x8").value()),
        cluster(topology, profiles),
        ledger(topology, Pooling::kPerNode) {
    Random random(1);
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      if (random.below(16) == 0) continue;
      const auto taken = static_cast<std::int32_t>(kGpusPerNode - random.below(3));
      ledger.take(make_share(cluster, ledger, Demand{}, NodeId(i), taken));
    }
  }

  Topology topology;
  ProfileTable profiles;
  Cluster cluster;
  ResourceLedger ledger;
};

// Finds a placement for a gang, takes its resources and releases them, as a Draft does.
void place_and_give_back(benchmark::State& state, const Placer& placer, std::int32_t gpus) {
  CrowdedCluster crowded(state.range(0));
  Demand demand;
  demand.gpus = gpus;
  Placement placement;
  for (auto _ : state) {
    MUSTER_CHECK(placer.place(crowded.cluster, crowded.ledger, demand, placement));
    for (const Share& share : placement) crowded.ledger.take(share);
    for (const Share& share : placement) crowded.ledger.give(share);
  }
}

void BM_ConsolidateOneGpu(benchmark::State& state) { place_and_give_back(state, Consolidate(), 1); }
BENCHMARK(BM_ConsolidateOneGpu)->RangeMultiplier(8)->Range(64, 4096);

void BM_ConsolidateHalfNode(benchmark::State& state) {
  place_and_give_back(state, Consolidate(), 4);
}
BENCHMARK(BM_ConsolidateHalfNode)->RangeMultiplier(8)->Range(64, 4096);

void BM_ConsolidateTwoNodes(benchmark::State& state) {
  place_and_give_back(state, Consolidate(), 16);
}
BENCHMARK(BM_ConsolidateTwoNodes)->RangeMultiplier(8)->Range(64, 4096);

void BM_FirstFitHalfNode(benchmark::State& state) { place_and_give_back(state, FirstFit(), 4); }
BENCHMARK(BM_FirstFitHalfNode)->RangeMultiplier(8)->Range(64, 4096);

// Mechanisms copy the ledger to try placements.
void BM_CopyLedger(benchmark::State& state) {
  const CrowdedCluster crowded(state.range(0));
  for (auto _ : state) {
    ResourceLedger scratch = crowded.ledger;
    benchmark::DoNotOptimize(scratch);
  }
}
BENCHMARK(BM_CopyLedger)->RangeMultiplier(8)->Range(64, 4096);

}  // namespace
}  // namespace muster
