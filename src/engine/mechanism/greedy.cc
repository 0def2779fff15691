#include "engine/mechanism/greedy.h"

#include "engine/mechanism/demand.h"

namespace muster {

void Greedy::place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                   Ask& ask) const {
  placer.place(cluster, ledger, best_demand(cluster, ask), ask.given);
}

}  // namespace muster
