#pragma once

// Placement of gangs. A Placer is stateless: its result depends only on the ledger and the demand.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/core/cluster.h"
#include "engine/core/resource_ledger.h"

namespace muster {

inline bool is_among(std::span<const NodeId> nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

struct Demand {
  std::int32_t gpus = 1;
  std::optional<GpuTypeId> gpu_type;
  // Resources per GPU. Empty: the proportional share of each node.
  std::optional<Resources> per_gpu;
  ProfileId profile;                   // Profile of the model of the job.
  std::uint64_t salt = 0;              // Differs for each job and lease; a seed for random choices.
  std::span<const NodeId> avoid = {};  // Nodes that must not be used; see Ask::avoid.
  Resources least = {};     // As JobSpec::least. If per_gpu is set, it already includes this.
  std::int32_t spread = 0;  // As JobSpec::spread.

  // Returns the resources that each GPU on `node` needs.
  Resources appetite(const Cluster& cluster, NodeId node) const {
    return per_gpu ? *per_gpu : at_least(cluster.fair(node), least);
  }
  // Whether the placement uses few enough nodes. Every placer checks its result with this.
  bool narrow_enough(const Placement& placement) const {
    return spread == 0 || placement.size() <= static_cast<std::size_t>(spread);
  }
  // Whether the demand may use the node. Every placer checks this before it looks for free
  // resources.
  bool allows(const Cluster& cluster, NodeId node) const {
    if (gpu_type && cluster.topology().node(node).gpu_type != *gpu_type) return false;
    return !is_among(avoid, node);
  }
};

class Placer {
 public:
  virtual ~Placer() = default;

  // Fills `out` with a placement of the whole gang that ledger.can_take() and that uses at most
  // demand.spread nodes. Returns false and leaves `out` empty if it finds none.
  virtual bool place(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                     Placement& out) const = 0;

  // How CPU and memory are counted: per node, or as if the cluster were one node.
  virtual Pooling pooling() const { return Pooling::kPerNode; }

  // Whether the profile matters: two jobs of equal GPU count and type may fit differently.
  virtual bool depends_on_profile() const { return false; }
};

// Returns the lowest `count` free GPUs of a node, with the resources that the demand needs for
// them.
inline Share make_share(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                        NodeId node, std::int32_t count) {
  const Resources each = demand.appetite(cluster, node);
  return {node, lowest_slots(ledger.free_slots(node), count), each.cpu_milli * count,
          each.mem_mib * count, each.storage_kbps * count};
}

}  // namespace muster
