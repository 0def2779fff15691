#pragma once

// Description of a cluster: its nodes, their capacities and their racks.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/id.h"
#include "base/types/result.h"
#include "engine/model/resources.h"

namespace muster {

inline constexpr int kMaxGpusPerNode = 64;  // A node's GPUs fit in a 64-bit mask.
inline constexpr int kMaxNodes = 100'000;

struct Node {
  std::string name;
  RackId rack;
  GpuTypeId gpu_type;
  Resources capacity;

  // GPU-proportional share of this node per GPU, rounded down so that the shares of all GPUs fit.
  Resources per_gpu() const {
    return {1, capacity.cpu_milli / capacity.gpus, capacity.mem_mib / capacity.gpus,
            capacity.storage_kbps / capacity.gpus};
  }
};

// Nodes, racks and GPU types with ids in the order of add_node() calls. Immutable after that.
class Topology {
 public:
  // Fails if the node has no GPUs or more than kMaxGpusPerNode, negative amounts, less than 0.001
  // CPUs or 1 MiB per GPU, or if there are already kMaxNodes nodes.
  MaybeError add_node(std::string name, std::string_view rack, std::string_view gpu_type,
                      Resources capacity);

  const IdVector<NodeId, Node>& nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::size_t node_count() const { return nodes_.size(); }
  const Resources& total() const { return total_; }

  std::size_t rack_count() const { return racks_.size(); }
  const std::string& rack_name(RackId id) const { return racks_[id]; }
  std::size_t gpu_type_count() const { return gpu_types_.size(); }
  const std::string& gpu_type_name(GpuTypeId id) const { return gpu_types_[id]; }
  std::int32_t gpus_of_type(GpuTypeId id) const { return gpus_of_type_[id]; }
  std::int32_t largest_node_gpus() const { return largest_node_gpus_; }

  // True if all nodes have the same capacity and GPU type, so they also have the same fair share.
  bool uniform() const { return uniform_; }

 private:
  IdVector<NodeId, Node> nodes_;
  IdVector<RackId, std::string> racks_;
  std::map<std::string, RackId, std::less<>> rack_ids_;  // There may be as many racks as nodes.
  IdVector<GpuTypeId, std::string> gpu_types_;
  IdVector<GpuTypeId, std::int32_t> gpus_of_type_;
  Resources total_;
  std::int32_t largest_node_gpus_ = 0;
  bool uniform_ = true;
};

// Parses "16x8" (nodes x GPUs per node) with optional
// ",cpus=24,mem=500,storage=500,racks=2,gpu=v100": CPUs, GB and MB/s per node, number of equal
// racks, GPU type. Defaults: 3 CPUs, 62.5 GB and 62.5 MB/s per GPU, one rack, type "gpu".
Result<Topology> parse_cluster_shorthand(std::string_view text);

}  // namespace muster
