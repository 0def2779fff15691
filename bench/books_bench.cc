// Finding room on a crowded cluster: the inner step of every plan. The cost should hardly follow
// the number of servers, since the books index servers by how many GPUs are free.

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

// Servers of 8 GPUs, about 9 of 10 GPUs taken: one server in 16 is idle, the others have 0 to 2
// free.
struct CrowdedCluster {
  explicit CrowdedCluster(std::int64_t nodes)
      : topology(parse_cluster_shorthand(std::to_string(nodes) + "x8").value()),
        cluster(topology, profiles),
        books(topology, Pooling::kPerNode) {
    Random random(1);
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      if (random.below(16) == 0) continue;
      const auto taken = static_cast<std::int32_t>(kGpusPerNode - random.below(3));
      books.take(make_share(cluster, books, Demand{}, NodeId(i), taken));
    }
  }

  Topology topology;
  ProfileTable profiles;
  Cluster cluster;
  Books books;
};

// Finds a place for a gang, takes it and gives it back, as a Draft does.
void place_and_give_back(benchmark::State& state, const Placer& placer, std::int32_t gpus) {
  CrowdedCluster crowded(state.range(0));
  Demand demand;
  demand.gpus = gpus;
  Placement placement;
  for (auto _ : state) {
    MUSTER_CHECK(placer.place(crowded.cluster, crowded.books, demand, placement));
    for (const Share& share : placement) crowded.books.take(share);
    for (const Share& share : placement) crowded.books.give(share);
  }
}

void BM_ConsolidateOneGpu(benchmark::State& state) { place_and_give_back(state, Consolidate(), 1); }
BENCHMARK(BM_ConsolidateOneGpu)->RangeMultiplier(8)->Range(64, 4096);

void BM_ConsolidateHalfServer(benchmark::State& state) {
  place_and_give_back(state, Consolidate(), 4);
}
BENCHMARK(BM_ConsolidateHalfServer)->RangeMultiplier(8)->Range(64, 4096);

void BM_ConsolidateTwoServers(benchmark::State& state) {
  place_and_give_back(state, Consolidate(), 16);
}
BENCHMARK(BM_ConsolidateTwoServers)->RangeMultiplier(8)->Range(64, 4096);

void BM_FirstFitHalfServer(benchmark::State& state) { place_and_give_back(state, FirstFit(), 4); }
BENCHMARK(BM_FirstFitHalfServer)->RangeMultiplier(8)->Range(64, 4096);

// A mechanism copies the books to try things on.
void BM_CopyBooks(benchmark::State& state) {
  const CrowdedCluster crowded(state.range(0));
  for (auto _ : state) {
    Books scratch = crowded.books;
    benchmark::DoNotOptimize(scratch);
  }
}
BENCHMARK(BM_CopyBooks)->RangeMultiplier(8)->Range(64, 4096);

}  // namespace
}  // namespace muster
