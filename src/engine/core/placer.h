#pragma once

// Where a gang goes. Stateless: a function of the books and the demand.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/core/books.h"
#include "engine/core/cluster.h"

namespace muster {

inline bool is_among(std::span<const NodeId> servers, NodeId node) {
  return std::find(servers.begin(), servers.end(), node) != servers.end();
}

struct Demand {
  std::int32_t gpus = 1;
  std::optional<GpuTypeId> gpu_type;
  // Per GPU; empty asks for each node's own proportional share.
  std::optional<Resources> per_gpu;
  ProfileId profile;       // Of the job's model.
  std::uint64_t salt = 0;  // Differs from job to job and lease to lease, for seeded random choice.
  std::span<const NodeId> avoid = {};  // Servers it must not be on; see Ask::avoid.
  Resources least = {};                // As JobSpec::least. In per_gpu already, where that is set.
  std::int32_t spread = 0;             // As JobSpec::spread.

  Resources appetite(const Cluster& cluster, NodeId node) const {
    return per_gpu ? *per_gpu : at_least(cluster.fair(node), least);
  }
  // Every placer asks this of what it found.
  bool narrow_enough(const Placement& placement) const {
    return spread == 0 || placement.size() <= static_cast<std::size_t>(spread);
  }
  // Every placer asks this of a server before it looks for room there.
  bool allows(const Cluster& cluster, NodeId node) const {
    if (gpu_type && cluster.topology().node(node).gpu_type != *gpu_type) return false;
    return !is_among(avoid, node);
  }
};

class Placer {
 public:
  virtual ~Placer() = default;

  // Fills `out` with a whole gang that books.can_take(), on no more servers than the demand's
  // spread, or returns false and leaves it empty.
  virtual bool place(const Cluster& cluster, const Books& books, const Demand& demand,
                     Placement& out) const = 0;

  // Count CPUs and memory as if the cluster were one server.
  virtual Pooling pooling() const { return Pooling::kPerNode; }

  // Whether two jobs of equal GPU count and type may fit differently because of their profiles.
  virtual bool depends_on_profile() const { return false; }
};

// `count` GPUs of a node for a demand: the lowest free slots and the appetite times the count.
inline Share make_share(const Cluster& cluster, const Books& books, const Demand& demand,
                        NodeId node, std::int32_t count) {
  const Resources each = demand.appetite(cluster, node);
  return {node, lowest_slots(books.free_slots(node), count), each.cpu_milli * count,
          each.mem_mib * count, each.storage_kbps * count};
}

}  // namespace muster
