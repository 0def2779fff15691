#include "engine/core/mechanism.h"

namespace muster {

Demand fair_demand(const Ask& ask) {
  const JobSpec& spec = *ask.spec;
  return {spec.gpus, spec.gpu_type, std::nullopt, spec.profile,
          ask.salt,  ask.avoid,     spec.least,   spec.spread};
}

void Mechanism::rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                          std::span<Ask> asks, Fidelity) {
  for (Ask& ask : asks) {
    place(cluster, placer, ledger, ask);
    for (const Share& share : ask.given) ledger.take(share);
  }
}

}  // namespace muster
