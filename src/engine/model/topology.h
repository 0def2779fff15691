#pragma once

// The cluster as its owner would write it down: servers, what is in them, which rack they stand in.

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

inline constexpr int kMostGpusPerNode = 64;  // A node's GPUs are one 64-bit mask.
inline constexpr int kMostNodes = 100'000;

struct Node {
  std::string name;
  RackId rack;
  GpuTypeId gpu_type;
  Resources capacity;

  // What one GPU's worth of this server comes to: the GPU-proportional share, rounded down, so that
  // the shares of all its GPUs always fit.
  Resources per_gpu() const {
    return {1, capacity.cpu_milli / capacity.gpus, capacity.mem_mib / capacity.gpus,
            capacity.storage_kbps / capacity.gpus};
  }
};

// Immutable once built. Nodes, racks and GPU types are numbered in the order they were added.
class Topology {
 public:
  // Refuses a node without GPUs or with more than kMostGpusPerNode, and negative amounts.
  Refusal add_node(std::string name, std::string_view rack, std::string_view gpu_type,
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

  // True when every server has the same vector and GPU type, so one fair share serves for all.
  bool uniform() const { return uniform_; }

 private:
  IdVector<NodeId, Node> nodes_;
  IdVector<RackId, std::string> racks_;
  std::map<std::string, RackId, std::less<>> rack_ids_;  // There may be as many racks as servers.
  IdVector<GpuTypeId, std::string> gpu_types_;
  IdVector<GpuTypeId, std::int32_t> gpus_of_type_;
  Resources total_;
  std::int32_t largest_node_gpus_ = 0;
  bool uniform_ = true;
};

// Reads the shorthand people type: "16x8" (servers x GPUs a server), with any of
// ",cpus=24,mem=500,storage=500,racks=2,gpu=v100" behind it: CPUs, GB, MB/s a server; racks of
// equal size; GPU type. Left out: 3 CPUs, 62.5 GB and 62.5 MB/s a GPU, one rack, type "gpu".
Result<Topology> parse_cluster_shorthand(std::string_view text);

}  // namespace muster
