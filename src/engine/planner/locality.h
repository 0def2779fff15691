#pragma once

// Where Philly looks for a gang, from the best locality to none: as few servers of one rack as it
// can be done with, more servers of one rack, any servers. Racks with the most free GPUs come
// first, and inside a rack the servers with the most; but a single GPU is taken where the fewest
// are left, so that whole servers stay whole. Functions of the books and the demand.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/books.h"
#include "engine/core/cluster.h"
#include "engine/core/placer.h"

namespace muster {

enum class Locality : std::uint8_t { kFewestServers, kOneRack, kAnywhere };

// Fills `out` with a whole gang on what is free, or returns false and leaves it empty.
bool place_locally(const Cluster& cluster, const Books& books, const Demand& demand,
                   Locality locality, Placement& out);

// The servers to wait for when there is no such place now: those nearest to being one.
std::vector<NodeId> servers_to_ask(const Cluster& cluster, const Books& books, const Demand& demand,
                                   Locality locality);

// The same as place_locally, on these servers only and as many of them as it takes.
bool place_on(const Cluster& cluster, const Books& books, const Demand& demand,
              std::span<const NodeId> servers, Placement& out);

}  // namespace muster
