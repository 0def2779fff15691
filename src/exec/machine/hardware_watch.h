#pragma once

// Watches this machine for hardware faults, on its own thread. MachineExecutor owns one and reports
// its results as measured evidence. Reports of one fault from several sources count once.

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/os/files.h"
#include "exec/machine/hardware_event.h"
#include "exec/machine/kernel_log.h"
#include "exec/machine/machine_facts.h"

namespace muster {

// Drops events of a fault of one device that was reported less than kSameFault ago, and events
// above kMaxEvents in a minute. An event without a device matches every device.
class FaultFilter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kSameFault{60};
  static constexpr std::size_t kMaxEvents = 8;

  bool passes(const HardwareEvent& event, Clock::time_point now);

 private:
  struct Past {
    HardwareFault fault;
    std::int64_t device;
    Clock::time_point at;
  };
  std::vector<Past> past_;  // Events that passed in the last minute.
};

class HardwareWatch {
 public:
  struct Settings {
    std::string nvml = kNvml;
    std::string kernel_log = kKernelLog;
    std::chrono::milliseconds period{1000};  // Poll interval; every tenth poll reads counters.
  };
  explicit HardwareWatch(Settings settings);
  ~HardwareWatch();

  int fd() const { return ready_.get(); }  // Readable when poll() has a result.
  // Returns the faults since the last call, such as "Xid 79". Never blocks.
  std::vector<std::string> poll();

 private:
  void run();
  void report(const std::vector<HardwareEvent>& events);

  Settings settings_;
  Fd ready_;
  Fd end_;
  FaultFilter filter_;
  std::mutex mutex_;
  std::vector<std::string> faults_;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace muster
