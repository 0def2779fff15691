#include "live/lease/utilization_sampler.h"

#include <algorithm>
#include <utility>

namespace muster {

UseSample UtilizationSampler::look(const MachineUse& seen, Clock::time_point now) {
  UseSample fresh;
  fresh.gpus = seen.gpus;
  decltype(cpu_seen_) next;
  for (const PartUse& part : seen.parts) {
    const auto rank = static_cast<std::size_t>(part.node_rank);
    std::vector<double>& ranks =
        fresh.cpus[{static_cast<LiveId>(part.job), static_cast<std::uint32_t>(part.epoch)}];
    ranks.resize(std::max(ranks.size(), rank + 1), -1);
    const std::tuple key(part.job, part.epoch, part.node_rank);
    const auto before = cpu_seen_.find(key);
    // A mean over a longer time does not describe the present.
    if (before != cpu_seen_.end() && now - before->second.at <= kHolds) {
      const double wall = std::chrono::duration<double>(now - before->second.at).count();
      const double granted = wall * static_cast<double>(part.cpu_milli) / 1000;
      if (granted > 0) {
        ranks[rank] = std::clamp((part.cpu_s - before->second.cpu_s) / granted, 0.0, 1.0);
      }
    }
    next[key] = {part.cpu_s, now};
  }
  cpu_seen_ = std::move(next);
  return fresh;
}

UseSample forgotten(const UseSample& sample) {
  UseSample nothing;
  nothing.gpus.assign(sample.gpus.size(), -1);
  return nothing;
}

}  // namespace muster
