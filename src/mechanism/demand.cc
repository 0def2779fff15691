#include "mechanism/demand.h"

#include <algorithm>

namespace muster {

Demand fair_demand(const JobSpec& spec, std::uint64_t salt) {
  return {spec.gpus, spec.gpu_type, std::nullopt, salt};
}

Demand best_demand(const Cluster& cluster, const JobSpec& spec, std::uint64_t salt) {
  Demand demand = fair_demand(spec, salt);
  const Profile& profile = cluster.profile(spec);
  if (!profile.sensitivity_known()) return demand;
  Resources want = profile.ideal();
  const Resources& fair = cluster.richest_fair();
  const Resources& server = cluster.topology().node(NodeId(0)).capacity;
  const auto cut = [&](std::int64_t ideal, std::int64_t share, std::int64_t capacity) {
    if (ideal * spec.gpus <= capacity) return ideal;
    return spec.gpus > server.gpus ? std::min(ideal, share) : capacity / spec.gpus;
  };
  want.cpu_milli = cut(want.cpu_milli, fair.cpu_milli, server.cpu_milli);
  want.mem_mib = cut(want.mem_mib, fair.mem_mib, server.mem_mib);
  want.storage_kbps = cluster.poorest_fair().storage_kbps;
  if (profile.speed(want) < profile.speed(fair)) return demand;
  demand.per_gpu = want;
  return demand;
}

bool exceeds(const Demand& demand, const Resources& share) {
  return demand.per_gpu &&
         (demand.per_gpu->cpu_milli > share.cpu_milli || demand.per_gpu->mem_mib > share.mem_mib ||
          demand.per_gpu->storage_kbps > share.storage_kbps);
}

}  // namespace muster
