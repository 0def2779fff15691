#pragma once

// Finds faults of the GPUs with NVML: critical Xids, totals of uncorrected ECC errors, and remapped
// rows. HardwareWatch polls it on its own thread, because NVML can block if a GPU does not answer.

#include <memory>
#include <vector>

#include "exec/machine/hardware_event.h"

namespace muster {

class GpuHealth {
 public:
  explicit GpuHealth(const char* nvml);  // Path of the library. Without it there are no events.
  ~GpuHealth();
  GpuHealth(const GpuHealth&) = delete;
  GpuHealth& operator=(const GpuHealth&) = delete;

  bool is_open() const;  // There is a GPU.
  // Returns the Xids since the last call, at most 64.
  std::vector<HardwareEvent> poll_xids();
  // Returns one event for each counter of each GPU that grew since the last call.
  std::vector<HardwareEvent> poll_counters();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace muster
