#include "engine/mechanism/demand.h"

#include <algorithm>

namespace muster {

Demand best_demand(const Cluster& cluster, const Ask& ask) {
  const JobSpec& spec = *ask.spec;
  Demand demand = fair_demand(ask);
  const Profile& profile = cluster.profile(spec);
  if (!profile.sensitivity_known()) return demand;
  Resources want = profile.ideal();
  const Cluster::Extent& extent = cluster.extent(spec.gpu_type);
  if (!profile.memory_known()) want.mem_mib = extent.richest_fair.mem_mib;
  const Resources& node = extent.smallest;
  if (spec.gpus > node.gpus) {
    want.cpu_milli = std::min(want.cpu_milli, extent.poorest_fair.cpu_milli);
    want.mem_mib = std::min(want.mem_mib, extent.poorest_fair.mem_mib);
  } else {
    want.cpu_milli = std::min(want.cpu_milli, node.cpu_milli / spec.gpus);
    want.mem_mib = std::min(want.mem_mib, node.mem_mib / spec.gpus);
  }
  want.storage_kbps = extent.poorest_fair.storage_kbps;
  want = at_least(want, spec.least);
  if (profile.speed(want) < profile.speed(extent.richest_fair)) return demand;
  demand.per_gpu = want;
  return demand;
}

bool exceeds(const Demand& demand, const Resources& share) {
  return demand.per_gpu &&
         (demand.per_gpu->cpu_milli > share.cpu_milli || demand.per_gpu->mem_mib > share.mem_mib ||
          demand.per_gpu->storage_kbps > share.storage_kbps);
}

}  // namespace muster
