#pragma once

// What never changes during a run: the servers and what is believed of each model's speed on them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/books.h"
#include "engine/model/job_spec.h"
#include "engine/model/profile.h"
#include "engine/model/topology.h"

namespace muster {

// What is left of a gang's speed when it is spread over servers: over one rack's (Philly's test
// with ResNet-50, systems.md A6), or over racks, where a model whose parameters are skewed suffers
// more (systems.md J; nobody has measured these two). All 1: spread costs nothing.
struct SpreadFactors {
  double one_rack = 1;
  double racks = 1;
  double racks_skewed = 1;
};
inline constexpr SpreadFactors kUsualSpread = {0.85, 0.8, 0.5};

// "8 GPUs with 16 CPUs and 64 GiB of memory on at most 2 servers", for people.
std::string what_it_asks(const JobSpec& spec);

class Cluster {
 public:
  // Both must outlive the Cluster.
  Cluster(const Topology& topology, const ProfileTable& profiles, SpreadFactors spread = {});

  const Topology& topology() const { return *topology_; }
  const ProfileTable& profiles() const { return *profiles_; }
  const Profile& profile(const JobSpec& spec) const { return (*profiles_)[spec.profile]; }

  // The GPU-proportional share per GPU of a node.
  const Resources& fair(NodeId node) const { return fair_[uniform_ ? NodeId(0) : node]; }

  // What the servers of one GPU type, or all of them, have in common.
  struct Extent {
    Resources richest_fair;  // Per GPU: the largest proportional share of each resource.
    Resources poorest_fair;  // And the smallest.
    Resources smallest;      // Of each resource, what the server with the least of it has.
    std::int32_t largest_gpus = 0;
  };
  const Extent& extent(std::optional<GpuTypeId> type) const {
    return type ? extent_of_type_[*type] : extent_;
  }

  // Why such a job could not run here if only what servers have counted, and not where a placement
  // wants to be; nothing if it could. For people.
  std::optional<std::string> why_never(const JobSpec& spec) const;

  // Speed of a gang, relative to the GPUs it asks for at the reference share: that of its slowest
  // worker, less what its spread costs; and as many times faster as other GPUs of an elastic job
  // make it.
  double speed(const JobSpec& spec, const Placement& placement) const;

  // Speed at the proportional share of `node`: the floor no job may be pushed below.
  double fair_speed(const JobSpec& spec, NodeId node) const;

  double gpu_factor(ProfileId profile, GpuTypeId type) const {
    return gpu_factors_[profile.index() * topology_->gpu_type_count() + type.index()];
  }

 private:
  std::int64_t gpus_beside(const JobSpec& spec, const Resources& least, std::size_t servers) const;
  std::string too_much(const JobSpec& spec) const;
  double scale_factor(const JobSpec& spec, const Placement& placement) const;
  double spread_factor(const Profile& believed, const Placement& placement) const;

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
