#include "core/cluster.h"

#include <algorithm>

#include "base/check.h"

namespace muster {

Cluster::Cluster(const Topology& topology, const ProfileTable& profiles)
    : topology_(&topology), profiles_(&profiles), uniform_(topology.uniform()) {
  MUSTER_CHECK(topology.node_count() > 0);
  richest_fair_ = poorest_fair_ = topology.node(NodeId(0)).per_gpu();
  for (const Node& node : topology.nodes()) {
    const Resources fair = node.per_gpu();
    fair_.push_back(fair);
    const auto widen = [](std::int64_t value, std::int64_t& low, std::int64_t& high) {
      low = std::min(low, value);
      high = std::max(high, value);
    };
    widen(fair.cpu_milli, poorest_fair_.cpu_milli, richest_fair_.cpu_milli);
    widen(fair.mem_mib, poorest_fair_.mem_mib, richest_fair_.mem_mib);
    widen(fair.storage_kbps, poorest_fair_.storage_kbps, richest_fair_.storage_kbps);
  }
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    for (std::size_t t = 0; t < topology.gpu_type_count(); ++t) {
      gpu_factors_.push_back(
          profiles[ProfileId(p)].gpu_factor(topology.gpu_type_name(GpuTypeId(t))));
    }
  }
}

double Cluster::speed(const JobSpec& spec, const Placement& placement) const {
  const Profile& believed = profile(spec);
  double slowest = 0;
  for (const Share& share : placement) {
    const std::int64_t gpus = share.gpus();
    const double here =
        believed.speed(share.cpu_milli / gpus, share.mem_mib / gpus, share.storage_kbps / gpus) *
        gpu_factor(spec.profile, topology_->node(share.node).gpu_type);
    slowest = &share == &placement.front() ? here : std::min(slowest, here);
  }
  return slowest;
}

double Cluster::fair_speed(const JobSpec& spec, NodeId node) const {
  return profile(spec).speed(fair(node)) * gpu_factor(spec.profile, topology_->node(node).gpu_type);
}

}  // namespace muster
