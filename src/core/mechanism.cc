#include "core/mechanism.h"

namespace muster {

void Mechanism::rebalance(const Cluster& cluster, const Placer& placer, Books& books,
                          std::span<Ask> asks, Fidelity) {
  for (Ask& ask : asks) {
    place(cluster, placer, books, ask);
    for (const Share& share : ask.given) books.take(share);
  }
}

}  // namespace muster
