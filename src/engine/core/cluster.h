#pragma once

// The constant data of a run: the nodes and the estimated speed of each model on them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/resource_ledger.h"
#include "engine/model/job_spec.h"
#include "engine/model/profile.h"
#include "engine/model/topology.h"

namespace muster {

// Relative speed of a gang on several nodes: in one rack (Philly test with ResNet-50, systems.md
// A6), or across racks, where models with skewed parameters lose more (systems.md J; these two
// values are not measured). 1: no loss. For a model whose profile has exchange(), the factor is
// computed from the bandwidths of a node's link instead (communication.h); 0: it is not. Philly has
// 100 Gb/s InfiniBand in a rack and Ethernet between racks, for which 10 Gb/s are assumed.
struct SpreadFactors {
  double one_rack = 1;
  double racks = 1;
  double racks_skewed = 1;
  double rack_bytes_per_second = 0;
  double racks_bytes_per_second = 0;
};
inline constexpr SpreadFactors kUsualSpread = {0.85, 0.8, 0.5, 12.5e9, 1.25e9};

// Returns the request as text: "8 GPUs with 16 CPUs and 64 GiB of memory on at most 2 nodes".
std::string what_it_asks(const JobSpec& spec);

class Cluster {
 public:
  // Both must outlive the Cluster.
  Cluster(const Topology& topology, const ProfileTable& profiles, SpreadFactors spread = {});

  const Topology& topology() const { return *topology_; }
  const ProfileTable& profiles() const { return *profiles_; }
  const Profile& profile(const JobSpec& spec) const { return (*profiles_)[spec.profile]; }

  // Returns the proportional share of one GPU: the resources of the node divided by its GPUs.
  const Resources& fair(NodeId node) const { return fair_[uniform_ ? NodeId(0) : node]; }

  // Limits over all nodes, or over the nodes of one GPU type.
  struct Extent {
    Resources richest_fair;         // Largest proportional share per GPU, for each resource.
    Resources poorest_fair;         // Smallest proportional share per GPU, for each resource.
    Resources smallest;             // Smallest capacity of a node, for each resource.
    std::int32_t largest_gpus = 0;  // Largest number of GPUs of a node.
  };
  const Extent& extent(std::optional<GpuTypeId> type) const {
    return type ? extent_of_type_[*type] : extent_;
  }

  // Returns why the job could never run here, as text for users, or nullopt if it could. Checks
  // only the capacity of nodes, not the rules of a placement.
  std::optional<std::string> why_never(const JobSpec& spec) const;

  // Returns the estimated speed of a gang, relative to spec.gpus GPUs at the reference share. It is
  // that of the slowest worker times the spread factor. For an elastic job it is scaled by the
  // number of GPUs.
  double speed(const JobSpec& spec, const Placement& placement) const;

  // Returns the speed at the proportional share of `node`: the lower limit for every job.
  double fair_speed(const JobSpec& spec, NodeId node) const;

  double gpu_factor(ProfileId profile, GpuTypeId type) const {
    return gpu_factors_[profile.index() * topology_->gpu_type_count() + type.index()];
  }

 private:
  std::int64_t gpus_beside(const JobSpec& spec, const Resources& least, std::size_t nodes) const;
  std::string too_much(const JobSpec& spec) const;
  double scale_factor(const JobSpec& spec, const Placement& placement) const;
  double spread_factor(const Profile& estimated, const Placement& placement) const;

  const Topology* topology_;
  const ProfileTable* profiles_;
  bool uniform_;
  IdVector<NodeId, Resources> fair_;
  Extent extent_;
  IdVector<GpuTypeId, Extent> extent_of_type_;
  std::vector<double> gpu_factors_;
  SpreadFactors spread_;
};

}  // namespace muster
