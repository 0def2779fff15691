#pragma once

// Keeps a lease from going on when it may not, where its daemon is on another machine. A thread of
// its own reads the record directory's wishes a few times a second: a lease that was retired hears
// of it there. Whoever cannot read the directory cannot hear, and so must end by itself after a
// time the daemon knows and waits for before the job starts elsewhere. A file system that hangs
// holds up this thread and perhaps the shim, but not the clock of the kernel: as a last resort the
// whole process is killed by a timer, and the job with it.

#include <time.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/os/files.h"
#include "exec/lease/wish.h"

namespace muster {

class Fence {
 public:
  // `stop_after_us` zero: no end to how long it may be out of hearing. `heard_us`: when the
  // directory was last read, in boot time.
  Fence(std::string directory, std::int64_t stop_after_us, std::int64_t heard_us);
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  ~Fence();

  int fd() const { return wake_.get(); }  // Readable when there is a wish to take.
  std::optional<Wish> take();             // The newest, once.
  std::int64_t deadline_us() const;  // In boot time: by then the lease is over. INT64_MAX: never.

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
  bool ending_ = false;  // Guarded, as is the next.
  std::optional<Wish> wish_;
  std::int64_t serial_ = -1;  // Of the last one read.
  std::thread thread_;
};

}  // namespace muster
