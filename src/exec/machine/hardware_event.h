#pragma once

// Faults that the hardware of this machine reports: by NVML (gpu_health.h) or in the kernel log
// (kernel_log.h). No job can cause them.

#include <cstdint>
#include <string>

namespace muster {

// The PCI address of a GPU as one number.
constexpr std::int64_t pci_address(std::int64_t domain, std::int64_t bus, std::int64_t device) {
  return domain << 16 | bus << 8 | device;
}
inline constexpr std::int64_t kNoDevice = -1;

// Reports of one fault of one device: an ECC error is an Xid, a counter of NVML and a remapped row.
enum class HardwareFault : std::uint8_t {
  kGpuMemory,    // Xids 48, 63, 64, 92 and 95, ECC totals, remapped rows.
  kNvlink,       // Xid 74.
  kGpuLost,      // Xid 79.
  kGpuFirmware,  // Xids 119 and 120.
  kHost,         // EDAC and machine checks: memory and CPUs.
};

struct HardwareEvent {
  HardwareFault fault = HardwareFault::kHost;
  std::int64_t device = kNoDevice;  // PCI address of the GPU; kNoDevice: none, or unknown.
  std::string what;                 // For users: "Xid 79".
};

// Sets `fault` for an Xid that only hardware causes. Returns false for others: a program can cause
// Xids 13, 31, 43 and 45, and the meaning of further ones depends on the driver.
constexpr bool find_fault(std::uint64_t xid, HardwareFault& fault) {
  switch (xid) {
    case 48:
    case 63:
    case 64:
    case 92:
    case 95:
      return fault = HardwareFault::kGpuMemory, true;
    case 74:
      return fault = HardwareFault::kNvlink, true;
    case 79:
      return fault = HardwareFault::kGpuLost, true;
    case 119:
    case 120:
      return fault = HardwareFault::kGpuFirmware, true;
    default:
      return false;
  }
}

}  // namespace muster
