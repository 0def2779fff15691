#include "engine/core/free_gpus.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace muster {

FreeGpus FreeGpus::seen_by(JobId job) const {
  FreeGpus seen = *this;
  if (kept > 0 && kept_for == job) seen.free += std::exchange(seen.kept, 0);
  return seen;
}

FreeGpus count_free_gpus(const EngineView& engine, std::optional<GpuTypeId> type) {
  const State& state = engine.state();
  const Topology& topology = state.cluster->topology();
  FreeGpus count;
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    if (type && topology.node(node).gpu_type != *type) continue;
    count.all += topology.node(node).capacity.gpus;
    const std::int32_t blocked = std::popcount(state.blocked[node].slots);
    if (state.closed[node] != 0) {
      count.closed += blocked;
      count.closed_nodes.push_back(node);
    } else if (blocked > 0) {
      count.others += blocked;
      ++count.others_nodes;
    }
    const std::int32_t unheld = state.ledger.free_gpus(node);
    count.free += unheld;
    if (unheld <= count.most_on_one) continue;
    count.most_on_one = unheld;
    count.best = node;
  }
  const std::optional<BackfillReservation> kept = engine.kept_free();
  if (!kept) return count;
  const std::optional<GpuTypeId> kept_type = state.jobs[kept->job].spec.gpu_type;
  if (type && kept_type && *type != *kept_type) return count;
  count.kept = std::min(count.free, kept->gpus);
  count.kept_for = kept->job;
  count.free -= count.kept;
  return count;
}

}  // namespace muster
