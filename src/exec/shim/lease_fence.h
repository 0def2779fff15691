#pragma once

// Ends a remote lease that the daemon has retired or that can no longer receive orders. A separate
// thread reads the orders in the record directory five times per second. If the directory is
// unreadable for `stop_after_us`, the lease must end. The daemon waits for that time before it
// starts the job elsewhere. If a file system call hangs, a kernel timer kills the shim and with it
// the job.

#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/os/files.h"
#include "exec/lease/remote_order.h"

namespace muster {

class LeaseFence {
 public:
  // `stop_after_us`: 0 means no limit. `heard_us`: boot time of the last successful read of the
  // directory.
  LeaseFence(std::string directory, std::int64_t stop_after_us, std::int64_t heard_us);
  LeaseFence(const LeaseFence&) = delete;
  LeaseFence& operator=(const LeaseFence&) = delete;
  ~LeaseFence();

  int fd() const { return wake_.get(); }  // Readable when take() has an order.
  std::optional<RemoteOrder> take();      // Returns the newest order, once.
  std::int64_t deadline_us() const;       // End of the lease, in boot time. INT64_MAX: never.

 private:
  void run();
  void look();
  void arm();

  std::string directory_;
  std::int64_t stop_after_us_;
  Fd wake_;
  timer_t last_resort_{};
  bool armed_ = false;
  std::atomic<std::int64_t> heard_us_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;  // Guarded by mutex_, like order_.
  std::optional<RemoteOrder> order_;
  std::int64_t serial_ = -1;  // Serial of the last order read.
  std::thread thread_;
};

}  // namespace muster
