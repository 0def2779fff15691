#include "engine/mechanism/greedy.h"

#include "engine/mechanism/demand.h"

namespace muster {

void Greedy::place(const Cluster& cluster, const Placer& placer, const Books& books,
                   Ask& ask) const {
  placer.place(cluster, books, best_demand(cluster, ask), ask.given);
}

}  // namespace muster
