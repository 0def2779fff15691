#include "live/lease/launch.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/hex.h"
#include "base/types/check.h"

namespace muster {

namespace {

// HMAC-SHA256, shortened to 128 bits, as hexadecimal digits. Deterministic, because a repeated
// order must be identical. Different for each part, because parts may share a machine. Without the
// key, no job can compute the token of a lease, not even from its mark.
std::string keyed(const LaunchSettings& settings, std::string_view purpose,
                  const LaunchSpec& part) {
  const std::string words = fmt::format("{} {} {}", purpose, settings.instance, lease_name(part));
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  const unsigned char* const done =
      HMAC(EVP_sha256(), settings.key.data(), static_cast<int>(settings.key.size()),
           reinterpret_cast<const unsigned char*>(words.data()), words.size(), out.data(), nullptr);
  MUSTER_CHECK(done != nullptr);
  return to_hex({out.data(), 16});
}

std::int64_t clamp_cpu(std::int64_t cpu_milli) {
  return std::clamp(cpu_milli, kMinCpuMilli, kMaxCpuMilli);
}

// Sets the devices of the lease. Without the nodes of all its GPUs there is no filter, because it
// would deny the job its own GPUs.
void set_devices(LaunchSpec& spec, const std::vector<GpuFacts>& gpus) {
  spec.gpu_filter = true;
  for (const int slot : gpus.empty() ? std::vector<int>() : spec.gpus) {
    const auto index = static_cast<std::size_t>(slot);
    if (index >= gpus.size() || gpus[index].nodes.empty() || gpus[index].uuid.empty()) {
      spec.gpu_filter = false;
      spec.gpu_nodes.clear();
      spec.gpu_uuids.clear();
      return;
    }
    const std::vector<std::string>& nodes = gpus[index].nodes;
    spec.gpu_nodes.insert(spec.gpu_nodes.end(), nodes.begin(), nodes.end());
    spec.gpu_uuids.push_back(gpus[index].uuid);
  }
}

}  // namespace

std::vector<LaunchSpec> launch_specs(const LiveJob& job, const Order& order,
                                     const LaunchSettings& settings) {
  const bool per_gpu = job.request.launch_per == LaunchPer::kGpu;
  LaunchSpec common;
  common.job = static_cast<std::int64_t>(job.id);
  common.epoch = order.lease;
  common.name = job.request.name;
  common.user = job.user;
  common.argv = job.request.command;
  common.env = job.request.env;
  common.env["MUSTER_MANAGER"] = settings.instance;
  if (job.array != 0) {
    common.env["MUSTER_ARRAY_ID"] = std::to_string(job.array);
    common.env["MUSTER_ARRAY_INDEX"] = std::to_string(job.index);
    // For scripts written for Slurm.
    common.env["SLURM_ARRAY_TASK_ID"] = std::to_string(job.index);
  }
  common.cwd = job.request.cwd;
  common.ranks_per = per_gpu ? RanksPer::kGpu : RanksPer::kNode;
  // Gangs on one machine need different ports; 20,000 ports make collisions unlikely.
  common.master_port = 20'000 + static_cast<int>((job.id * 7 + order.lease) % 20'000);
  common.grace_ms = job.request.grace.value_or(settings.grace).us() / 1000;
  common.time_limit_ms = order.time_limit.us() / 1000;
  common.keep_for_ms = job.request.on_lost.kept_for().us() / 1000;
  common.stop_after_ms = job.request.on_lost.stops_after().us() / 1000;
  common.log_cap_bytes = settings.log_cap_bytes;
  common.log_files = settings.log_files;
  common.cgroup_parent = settings.cgroup_parent;
  common.world_size =
      per_gpu ? total_of(order.placement).gpus : static_cast<int>(order.placement.size());
  std::vector<LaunchSpec> specs;
  int rank = 0;
  for (const Share& share : order.placement) {
    LaunchSpec spec = common;
    for (int slot = 0; slot < 64; ++slot) {
      if ((share.slots >> slot & 1) != 0) spec.gpus.push_back(slot);
    }
    if (settings.gpus) set_devices(spec, *settings.gpus);
    spec.node_rank = static_cast<int>(specs.size());
    spec.token = keyed(settings, "token", spec);
    spec.mark = keyed(settings, "mark", spec);
    spec.first_rank = rank;
    spec.cpu_milli = clamp_cpu(share.cpu_milli);
    spec.mem_mib = std::clamp<std::int64_t>(share.mem_mib, 1, kMaxMemMib);
    rank += per_gpu ? share.gpus() : 1;
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<Limits> launch_limits(const Placement& placement) {
  std::vector<Limits> limits;
  for (const Share& share : placement) {
    Limits each;
    each.cpu_milli = clamp_cpu(share.cpu_milli);
    each.mem_mib = std::clamp<std::int64_t>(share.mem_mib, 1, kMaxMemMib);
    limits.push_back(each);
  }
  return limits;
}

}  // namespace muster
