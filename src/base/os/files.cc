#include "base/os/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace muster {
namespace {

MaybeError write_all(int fd, const std::string& name, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(name, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return std::nullopt;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() { return std::exchange(fd_, -1); }

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error system_error(std::string_view what, int error_number) {
  return Error{std::string(what) + ": " + std::strerror(error_number), ErrorCode::kSystem};
}

Result<Fd> open_directory(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.open()) return system_error(path, errno);
  return fd;
}

bool file_exists(const Fd& directory, const char* name) {
  return ::faccessat(directory.get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::string> read_file(int directory, const char* path, std::size_t most) {
  const Fd fd(::openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.open()) return system_error(path, errno);
  std::string text;
  char piece[16 << 10];
  while (true) {
    const ssize_t n = ::read(fd.get(), piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, errno);
    if (n == 0) return text;
    text.append(piece, static_cast<std::size_t>(n));
    if (text.size() > most) {
      return Error{std::string(path) + ": longer than " + std::to_string(most) + " bytes",
                   ErrorCode::kTooLarge};
    }
  }
}

MaybeError write_whole(const Fd& directory, const std::string& name, std::string_view text) {
  const std::string fresh = name + ".new";
  // O_NONBLOCK: open() must not block if a job has put a pipe there.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const Fd fd(::openat(directory.get(), fresh.c_str(), kFlags, 0600));
  if (!fd.open()) return system_error(fresh, errno);
  // Overwrite the reserved blocks and truncate afterwards. This keeps the reserved space.
  if (auto refusal = write_all(fd.get(), fresh, text)) return refusal;
  if (::ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0 || ::fsync(fd.get()) != 0) {
    return system_error(fresh, errno);
  }
  if (::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) != 0 ||
      ::fsync(directory.get()) != 0) {
    return system_error(name, errno);
  }
  return std::nullopt;
}

MaybeError write_for_owner(const Fd& directory, const std::string& name, std::string_view text) {
  const std::string fresh = name + ".new";
  struct stat facts {};
  if (::fstat(directory.get(), &facts) != 0) return system_error(name, errno);
  if (::unlinkat(directory.get(), fresh.c_str(), 0) != 0 && errno == EISDIR) {
    ::unlinkat(directory.get(), fresh.c_str(), AT_REMOVEDIR);
  }
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const Fd fd(::openat(directory.get(), fresh.c_str(), kFlags, 0600));
  if (!fd.open()) return system_error(fresh, errno);
  if (auto refusal = write_all(fd.get(), fresh, text)) return refusal;
  if (facts.st_uid != ::geteuid() && ::fchown(fd.get(), facts.st_uid, facts.st_gid) != 0) {
    return system_error(fresh, errno);
  }
  if (::fsync(fd.get()) != 0 ||
      ::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) != 0 ||
      ::fsync(directory.get()) != 0) {
    return system_error(name, errno);
  }
  return std::nullopt;
}

MaybeError reserve(const Fd& directory, const std::string& name, std::size_t bytes) {
  const std::string fresh = name + ".new";
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  const Fd fd(::openat(directory.get(), fresh.c_str(), kFlags, 0600));
  if (!fd.open()) return system_error(fresh, errno);
  const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (error != 0 && error != EOPNOTSUPP) return system_error(fresh, error);
  return std::nullopt;
}

}  // namespace muster
