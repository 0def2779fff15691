#pragma once

// One holder of a file at a time: a lock file beside it that names the process holding it. The
// system lets go of it when the process is gone, however it went; the lock file stays.

#include <string>
#include <utility>

#include "base/types/result.h"

namespace muster {

class FileLock {
 public:
  // Takes PATH.lock, or says who has it.
  static Result<FileLock> take(const std::string& path);

  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace muster
