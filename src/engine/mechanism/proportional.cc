#include "engine/mechanism/proportional.h"

#include "engine/mechanism/demand.h"

namespace muster {

void Proportional::place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                         Ask& ask) const {
  placer.place(cluster, ledger, fair_demand(ask), ask.given);
}

}  // namespace muster
