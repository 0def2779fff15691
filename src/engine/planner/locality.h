#pragma once

// Philly's placement of a gang by locality: minimum number of nodes of one rack, more nodes of one
// rack, or any nodes. Racks and nodes with the most free GPUs come first. A single GPU goes to the
// node with the fewest free GPUs, so that whole nodes stay free. The results depend only on the
// arguments.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/placer.h"
#include "engine/core/resource_ledger.h"

namespace muster {

enum class Locality : std::uint8_t { kMinNodes, kOneRack, kAnywhere };

// Fills `out` with a placement of the whole gang on free GPUs. Returns false and clears `out` if
// there is none.
bool place_locally(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                   Locality locality, Placement& out);

// Returns the nodes to wait for if place_locally() fails: those closest to fitting the gang.
std::vector<NodeId> nodes_to_ask(const Cluster& cluster, const ResourceLedger& ledger,
                                 const Demand& demand, Locality locality);

// As place_locally(), but only on these nodes, and as many of them as needed.
bool place_on(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
              std::span<const NodeId> nodes, Placement& out);

}  // namespace muster
