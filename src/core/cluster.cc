#include "core/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace muster {

namespace {

// Each resource by itself, the better or the worse of the two.
Resources each(const Resources& a, const Resources& b,
               const std::int64_t& (*pick)(const std::int64_t&, const std::int64_t&)) {
  return {static_cast<std::int32_t>(pick(a.gpus, b.gpus)), pick(a.cpu_milli, b.cpu_milli),
          pick(a.mem_mib, b.mem_mib), pick(a.storage_kbps, b.storage_kbps)};
}

void widen(Cluster::Extent& extent, const Node& node) {
  const Resources fair = node.per_gpu();
  if (extent.largest_gpus == 0) {  // The first.
    extent = {fair, fair, node.capacity, node.capacity.gpus};
    return;
  }
  extent.richest_fair = each(extent.richest_fair, fair, &std::max<std::int64_t>);
  extent.poorest_fair = each(extent.poorest_fair, fair, &std::min<std::int64_t>);
  extent.smallest = each(extent.smallest, node.capacity, &std::min<std::int64_t>);
  extent.largest_gpus = std::max(extent.largest_gpus, node.capacity.gpus);
}

}  // namespace

Cluster::Cluster(const Topology& topology, const ProfileTable& profiles, SpreadFactors spread)
    : topology_(&topology), profiles_(&profiles), uniform_(topology.uniform()), spread_(spread) {
  MUSTER_CHECK(topology.node_count() > 0);
  extent_of_type_.resize(topology.gpu_type_count());
  for (const Node& node : topology.nodes()) {
    fair_.push_back(node.per_gpu());
    widen(extent_, node);
    widen(extent_of_type_[node.gpu_type], node);
  }
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    for (std::size_t t = 0; t < topology.gpu_type_count(); ++t) {
      gpu_factors_.push_back(
          profiles[ProfileId(p)].gpu_factor(topology.gpu_type_name(GpuTypeId(t))));
    }
  }
}

std::optional<std::string> Cluster::why_never(const JobSpec& spec) const {
  if (spec.gpus < 1) return fmt::format("asks for {} GPUs", spec.gpus);
  if (spec.gpu_type && spec.gpu_type->index() >= topology_->gpu_type_count()) {
    return "asks for a type of GPU that the cluster does not have";
  }
  const std::int32_t there =
      spec.gpu_type ? topology_->gpus_of_type(*spec.gpu_type) : topology_->total().gpus;
  if (spec.gpus <= there) return std::nullopt;
  return fmt::format("needs {} GPUs{}, the cluster has {}", spec.gpus,
                     spec.gpu_type ? " of type " + topology_->gpu_type_name(*spec.gpu_type) : "",
                     there);
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
  if (placement.size() > 1) slowest *= spread_factor(believed, placement);
  return slowest * scale_factor(spec, placement);
}

// 1 but for elastic jobs.
double Cluster::scale_factor(const JobSpec& spec, const Placement& placement) const {
  if (spec.fewest_gpus() == spec.most_gpus()) return 1;
  std::int32_t gpus = 0;
  for (const Share& share : placement) gpus += share.gpus();
  if (gpus == spec.gpus) return 1;
  const Profile& believed = profile(spec);
  return believed.steps_per_second(gpus) / believed.steps_per_second(spec.gpus);
}

double Cluster::spread_factor(const Profile& believed, const Placement& placement) const {
  const RackId first = topology_->node(placement.front().node).rack;
  const bool one_rack = std::all_of(placement.begin(), placement.end(), [&](const Share& share) {
    return topology_->node(share.node).rack == first;
  });
  if (one_rack) return spread_.one_rack;
  return believed.is_skewed() ? spread_.racks_skewed : spread_.racks;
}

double Cluster::fair_speed(const JobSpec& spec, NodeId node) const {
  return profile(spec).speed(fair(node)) * gpu_factor(spec.profile, topology_->node(node).gpu_type);
}

}  // namespace muster
