#include "exec/launch/wire.h"

#include <signal.h>

#include <algorithm>

namespace muster {
namespace {

constexpr std::int64_t kMaxCpu = 1'000'000'000;             // Thousandths of a CPU.
constexpr std::int64_t kMaxMemory = std::int64_t{1} << 36;  // MiB.
constexpr std::int64_t kMaxDeadline = std::int64_t{100} * 366 * 86'400'000;
constexpr std::uint32_t kMaxProcessLimit = 1U << 22;  // The maximum of the kernel.

bool are_limits(std::int64_t cpu_milli, std::int64_t mem_mib) {
  return cpu_milli > 0 && cpu_milli <= kMaxCpu && mem_mib > 0 && mem_mib <= kMaxMemory;
}

}  // namespace

bool is_stage(LaunchStage stage) {
  return stage >= LaunchStage::kRequest && stage <= LaunchStage::kIdentity;
}

bool StartFrame::is_valid() const {
  if (!lease.is_valid() || !are_limits(cpu_milli, mem_mib)) return false;
  if (deadline_ms < 0 || deadline_ms > kMaxDeadline) return false;
  if (max_processes == 0 || max_processes > kMaxProcessLimit) return false;
  if (ranks == 0 || ranks > kMaxRanks || device_count > kMaxDevices) return false;
  return std::all_of(devices.begin() + device_count, devices.end(), [](const LeaseDevice& device) {
    return device.major == 0 && device.minor == 0;
  });
}

bool RefusedFrame::is_valid() const {
  return code <= ErrorCode::kInterrupted && error_number >= 0 && is_stage(stage);
}

bool SignalFrame::is_valid() const {
  constexpr int kSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGSTOP, SIGCONT};
  return std::find(std::begin(kSignals), std::end(kSignals), signal) != std::end(kSignals);
}

bool ResizeFrame::is_valid() const { return are_limits(cpu_milli, mem_mib); }

}  // namespace muster
