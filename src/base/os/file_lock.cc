#include "base/os/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace muster {

namespace {

// Returns " (process 4711)" from the lock file, or "" if the holder has not written its id yet.
std::string holder(int descriptor) {
  char text[16] = {};
  const ssize_t size = pread(descriptor, text, sizeof text, 0);
  int process = 0;
  if (size <= 0 || std::from_chars(text, text + size, process).ec != std::errc()) return "";
  return fmt::format(" (process {})", process);
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  // Resolve links, so that two names of one file share one lock.
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, ignored);
  const std::string name = (real.empty() ? path : real.string()) + ".lock";
  const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0)
    return Error{fmt::format("cannot lock: {}", std::strerror(errno)), ErrorCode::kSystem, path};
  FileLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{"in use by another muster" + holder(descriptor), ErrorCode::kConflict, path};
    }
    return Error{fmt::format("cannot lock: {}", std::strerror(errno)), ErrorCode::kSystem, path};
  }
  // The id is only for error messages, so a failure to write it (full disk) is ignored.
  const std::string process = fmt::format("{}\n", getpid());
  if (ftruncate(descriptor, 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(descriptor, process.data(), process.size(), 0);
  }
  return lock;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace muster
