#pragma once

// Exclusive lock on a file, through the lock file PATH.lock, which contains the id of the process
// that holds it. The system releases the lock when the process ends for any reason. The lock file
// remains.

#include <string>
#include <utility>

#include "base/types/result.h"

namespace muster {

class FileLock {
 public:
  // Locks PATH.lock without blocking. Fails with kConflict if another process holds it; the message
  // contains its process id if known.
  static Result<FileLock> take(const std::string& path);

  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace muster
