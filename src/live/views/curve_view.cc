#include "live/views/curve_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "live/views/view_units.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::int64_t kSteps = 32;  // Points of the axis, in addition to the bends of the curve.

// Returns the node of the job, or the first node that it could use.
NodeId typical_node(const Topology& topology, const JobSpec& spec, const Placement* held) {
  if (held != nullptr) return held->front().node;
  for (std::size_t i = 0; spec.gpu_type && i < topology.node_count(); ++i) {
    if (topology.node(NodeId(i)).gpu_type == *spec.gpu_type) return NodeId(i);
  }
  return NodeId(0);
}

}  // namespace

std::optional<json> curve_view(const Cluster& cluster, const JobSpec& spec, const Placement* held) {
  const Profile& profile = cluster.profile(spec);
  if (!profile.sensitivity_known()) return std::nullopt;
  if (held != nullptr && held->empty()) held = nullptr;
  const Resources fair = cluster.fair(typical_node(cluster.topology(), spec, held));
  const Resources total = held != nullptr ? total_of(*held) : Resources();
  const std::int64_t gpus = held != nullptr ? total.gpus : spec.gpus;
  const std::int64_t mem = held != nullptr ? total.mem_mib / gpus : fair.mem_mib;
  const std::int64_t has = total.cpu_milli / gpus;  // Per GPU.
  const std::int64_t need = profile.ideal().cpu_milli;
  const std::int64_t most = std::max({need, has, fair.cpu_milli}) * 5 / 4;
  const auto speed = [&](std::int64_t milli) {
    return profile.speed(milli, mem, fair.storage_kbps);
  };
  const double best = speed(std::max(most, profile.cpu_points().back()));
  if (!(best > 0)) return std::nullopt;

  std::set<std::int64_t> points = {fair.cpu_milli, most};
  for (const std::int64_t milli : profile.cpu_points()) {
    if (milli < most) points.insert(milli);
  }
  for (std::int64_t i = 1; i < kSteps; ++i)
    points.insert(std::max<std::int64_t>(1, most * i / kSteps));
  json xs = json::array();
  json ys = json::array();
  for (const std::int64_t milli : points) {
    xs.push_back(cpus(milli * gpus));
    ys.push_back(speed(milli) / best);
  }
  const auto point = [&](std::int64_t milli) {
    return json{{"cpus", cpus(milli * gpus)}, {"speed", speed(milli) / best}};
  };
  json view = {{"cpus", std::move(xs)},
               {"speed", std::move(ys)},
               {"share", point(fair.cpu_milli)},
               {"need", cpus(need * gpus)}};
  if (held != nullptr) view["now"] = point(has);
  return view;
}

}  // namespace muster
