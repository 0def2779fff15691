#include "engine/core/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/types/check.h"
#include "engine/model/communication.h"

namespace muster {

namespace {

// Applies `pick` (minimum or maximum) to each resource separately.
Resources each(const Resources& a, const Resources& b,
               const std::int64_t& (*pick)(const std::int64_t&, const std::int64_t&)) {
  return {static_cast<std::int32_t>(pick(a.gpus, b.gpus)), pick(a.cpu_milli, b.cpu_milli),
          pick(a.mem_mib, b.mem_mib), pick(a.storage_kbps, b.storage_kbps)};
}

void widen(Cluster::Extent& extent, const Node& node) {
  const Resources fair = node.per_gpu();
  if (extent.largest_gpus == 0) {  // The first node.
    extent = {fair, fair, node.capacity, node.capacity.gpus};
    return;
  }
  extent.richest_fair = each(extent.richest_fair, fair, &std::max<std::int64_t>);
  extent.poorest_fair = each(extent.poorest_fair, fair, &std::min<std::int64_t>);
  extent.smallest = each(extent.smallest, node.capacity, &std::min<std::int64_t>);
  extent.largest_gpus = std::max(extent.largest_gpus, node.capacity.gpus);
}

// Four significant digits, or all digits before the decimal point. Amounts per GPU are rounded up,
// so more digits would show rounding errors.
std::string figures(double amount) {
  return amount < 1000 ? fmt::format("{:.4g}", amount) : fmt::format("{:.0f}", amount);
}

std::string mem_text(std::int64_t mib) { return figures(static_cast<double>(mib) / 1024) + " GiB"; }

std::string cpu_text(std::int64_t milli) {
  return figures(static_cast<double>(milli) / 1000) + (milli == 1000 ? " CPU" : " CPUs");
}

}  // namespace

std::string what_it_asks(const JobSpec& spec) {
  std::string text = fmt::format("{} GPU{}", spec.gpus, spec.gpus == 1 ? "" : "s");
  const Resources total = spec.least * spec.gpus;
  if (total.cpu_milli > 0) text += " with " + cpu_text(total.cpu_milli);
  if (total.mem_mib > 0) {
    text += (total.cpu_milli > 0 ? " and " : " with ") + mem_text(total.mem_mib) + " of memory";
  }
  if (spec.spread > 0) {
    text += fmt::format(" on at most {} node{}", spec.spread, spec.spread == 1 ? "" : "s");
  }
  return text;
}

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
  if (spec.gpus < 1) return fmt::format("requests {} GPUs", spec.gpus);
  if (spec.gpu_type && spec.gpu_type->index() >= topology_->gpu_type_count()) {
    return "the cluster has no GPUs of the requested type";
  }
  const std::int32_t there =
      spec.gpu_type ? topology_->gpus_of_type(*spec.gpu_type) : topology_->total().gpus;
  if (spec.gpus > there) {
    return fmt::format("needs {} GPUs{}, the cluster has {}", spec.gpus,
                       spec.gpu_type ? " of type " + topology_->gpu_type_name(*spec.gpu_type) : "",
                       there);
  }
  if (!spec.is_particular()) return std::nullopt;
  const std::size_t nodes =
      spec.spread > 0 ? static_cast<std::size_t>(spec.spread) : topology_->node_count();
  if (gpus_beside(spec, spec.least, nodes) >= spec.gpus) return std::nullopt;
  return too_much(spec);
}

// Returns the maximum number of GPUs of the job that `servers` nodes can serve with `least` per
// GPU.
std::int64_t Cluster::gpus_beside(const JobSpec& spec, const Resources& least,
                                  std::size_t nodes) const {
  std::vector<std::int64_t> each;
  for (const Node& node : topology_->nodes()) {
    if (spec.gpu_type && node.gpu_type != *spec.gpu_type) continue;
    std::int64_t gpus = node.capacity.gpus;
    if (least.cpu_milli > 0) gpus = std::min(gpus, node.capacity.cpu_milli / least.cpu_milli);
    if (least.mem_mib > 0) gpus = std::min(gpus, node.capacity.mem_mib / least.mem_mib);
    each.push_back(gpus);
  }
  std::sort(each.begin(), each.end(), std::greater<>());
  if (each.size() > nodes) each.resize(nodes);
  return std::accumulate(each.begin(), each.end(), std::int64_t{0});
}

// Returns which limit the job exceeds, with both numbers. Names a single resource if one alone is
// too much.
std::string Cluster::too_much(const JobSpec& spec) const {
  const auto nodes = static_cast<std::size_t>(spec.spread);
  const std::int64_t together = spec.spread > 0 ? gpus_beside(spec, {}, nodes) : spec.gpus;
  if (together < spec.gpus) {
    return fmt::format("needs {} GPUs on at most {} node{}, the largest {} {}", spec.gpus, nodes,
                       nodes == 1 ? "" : "s", nodes == 1 ? "has" : fmt::format("{} have", nodes),
                       together);
  }
  Resources most;  // Largest capacity of a node, for each resource.
  for (const Node& node : topology_->nodes()) {
    if (spec.gpu_type && node.gpu_type != *spec.gpu_type) continue;
    most = each(most, node.capacity, &std::max<std::int64_t>);
  }
  const std::size_t all = topology_->node_count();
  const Resources mem_only = {0, 0, spec.least.mem_mib, 0};
  const Resources cpu_only = {0, spec.least.cpu_milli, 0, 0};
  const bool one_node = spec.gpus == 1 || spec.spread == 1 || all == 1;
  for (const bool mem : {true, false}) {
    if ((mem ? mem_only.mem_mib : cpu_only.cpu_milli) == 0) continue;
    const auto words = [mem](const Resources& amount) {
      return mem ? mem_text(amount.mem_mib) + " of memory" : cpu_text(amount.cpu_milli);
    };
    const auto part = [mem](const Resources& amount) {
      return mem ? amount.mem_mib : amount.cpu_milli;
    };
    const std::int64_t can = gpus_beside(spec, mem ? mem_only : cpu_only, one_node ? 1 : all);
    if (can >= spec.gpus) continue;
    const Resources total = spec.least * spec.gpus;
    const std::string has = mem ? mem_text(most.mem_mib) : cpu_text(most.cpu_milli);
    if (one_node && part(total) > part(most)) {
      return fmt::format("needs {}{}, the largest node has {}", words(total),
                         spec.gpus > 1 && all > 1 ? " on one node" : "", has);
    }
    if (part(spec.least) > part(most)) {
      return fmt::format("needs {} per GPU, the largest node has {}", words(spec.least), has);
    }
    return fmt::format("needs {} per GPU for {} GPUs, the cluster has that for {}",
                       words(spec.least), spec.gpus, can);
  }
  return what_it_asks(spec) + " cannot be placed even on the empty cluster";
}

double Cluster::speed(const JobSpec& spec, const Placement& placement) const {
  const Profile& estimated = profile(spec);
  double slowest = 0;
  for (const Share& share : placement) {
    const std::int64_t gpus = share.gpus();
    const double here =
        estimated.speed(share.cpu_milli / gpus, share.mem_mib / gpus, share.storage_kbps / gpus) *
        gpu_factor(spec.profile, topology_->node(share.node).gpu_type);
    slowest = &share == &placement.front() ? here : std::min(slowest, here);
  }
  if (placement.size() > 1) slowest *= spread_factor(estimated, placement);
  return slowest * scale_factor(spec, placement);
}

// Returns 1 for jobs that are not elastic.
double Cluster::scale_factor(const JobSpec& spec, const Placement& placement) const {
  if (spec.fewest_gpus() == spec.most_gpus()) return 1;
  std::int32_t gpus = 0;
  for (const Share& share : placement) gpus += share.gpus();
  if (gpus == spec.gpus) return 1;
  const Profile& estimated = profile(spec);
  return estimated.steps_per_second(gpus) / estimated.steps_per_second(spec.gpus);
}

double Cluster::spread_factor(const Profile& estimated, const Placement& placement) const {
  const RackId first = topology_->node(placement.front().node).rack;
  const bool one_rack = std::all_of(placement.begin(), placement.end(), [&](const Share& share) {
    return topology_->node(share.node).rack == first;
  });
  const double link = one_rack ? spread_.rack_bytes_per_second : spread_.racks_bytes_per_second;
  if (const std::optional<ExchangeFacts>& exchange = estimated.exchange(); exchange && link > 0) {
    std::int64_t workers = 0;
    for (const Share& share : placement) workers += share.gpus();
    Bandwidths bandwidths;
    bandwidths.between = link;
    return spread_speed({exchange->parameter_bytes, estimated.skew(), exchange->compute_seconds},
                        {workers, static_cast<std::int64_t>(placement.size())}, bandwidths);
  }
  if (one_rack) return spread_.one_rack;
  return estimated.is_skewed() ? spread_.racks_skewed : spread_.racks;
}

double Cluster::fair_speed(const JobSpec& spec, NodeId node) const {
  return profile(spec).speed(fair(node)) * gpu_factor(spec.profile, topology_->node(node).gpu_type);
}

}  // namespace muster
