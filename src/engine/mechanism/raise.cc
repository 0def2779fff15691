#include "engine/mechanism/raise.h"

#include <algorithm>

namespace muster {

Raise best_raise(const Profile& profile, const Share& share, const ResourceLedger::Room& room,
                 std::int64_t max_cpu_milli) {
  Raise best;
  const std::int64_t gpus = share.gpus();
  const Resources now = {1, share.cpu_milli / gpus, share.mem_mib / gpus,
                         share.storage_kbps / gpus};
  const double speed = profile.speed(now);
  const std::int64_t most_cpu =
      std::min(now.cpu_milli + room.cpu_milli / gpus, max_cpu_milli / gpus);
  const std::int64_t most_mem = now.mem_mib + room.mem_mib / gpus;
  for (const std::int64_t point : profile.cpu_points()) {
    if (point <= now.cpu_milli) continue;
    for (const std::int64_t mem : {now.mem_mib, std::max(now.mem_mib, profile.ideal().mem_mib)}) {
      const Resources each = {1, std::min(point, most_cpu), std::min(mem, most_mem),
                              now.storage_kbps};
      if (each.cpu_milli <= now.cpu_milli) return best;
      const double gain = (profile.speed(each) - speed) /
                          static_cast<double>((each.cpu_milli - now.cpu_milli) * gpus);
      if (gain > best.gain) best = {0, each, gain};
    }
    if (point >= most_cpu) return best;
  }
  return best;
}

}  // namespace muster
