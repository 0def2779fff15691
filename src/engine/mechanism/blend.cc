#include "engine/mechanism/blend.h"

#include <utility>
#include <vector>

#include "engine/mechanism/packing.h"
#include "engine/mechanism/tune.h"

namespace muster {

namespace {

double total_speed(const Cluster& cluster, std::span<const Ask> asks) {
  double sum = 0;
  for (const Ask& ask : asks) {
    if (!ask.given.empty()) sum += cluster.speed(*ask.spec, ask.given);
  }
  return sum;
}

}  // namespace

void Blend::place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                  Ask& ask) const {
  Tune().place(cluster, placer, ledger, ask);
}

void Blend::rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                      std::span<Ask> asks) {
  solver_.use(cluster);
  ResourceLedger scratch = ledger;
  Tune().rebalance(cluster, placer, scratch, asks);
  const double tuned_speed = total_speed(cluster, asks);
  std::vector<Placement> tuned;
  tuned.reserve(asks.size());
  for (const Ask& ask : asks) tuned.push_back(ask.given);

  if (ledger.pooled() && !cluster.topology().uniform()) {
    // A pool of unequal nodes has no common minimum share. Tune handles each job's own share.
    ledger = std::move(scratch);
    return;
  }
  Packing packing(cluster, ledger, asks, solver_);
  packing.improve();
  if (packing.feasible()) packing.write();
  if (!packing.feasible() || total_speed(cluster, asks) < tuned_speed) {
    for (std::size_t i = 0; i < asks.size(); ++i) asks[i].given = std::move(tuned[i]);
  }
  for (const Ask& ask : asks) {
    for (const Share& share : ask.given) ledger.take(share);
  }
}

}  // namespace muster
