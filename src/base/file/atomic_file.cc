#include "base/file/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

// Random, because process ids are not unique among the machines that share a directory.
std::uint64_t chance() {
  std::uint64_t number = 0;
  MUSTER_CHECK(getrandom(&number, sizeof number, 0) == sizeof number);
  return number;
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp{:016x}", path_, chance())) {
  buffer_.reserve(2 * kBufferBytes);
  // O_EXCL: do not follow an existing link of that name, and do not write into an existing file.
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    fail("cannot create");
  } else {
    leftover_ = true;
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (leftover_) unlink(temporary_.c_str());
}

void AtomicFile::append(std::string_view text) {
  if (failure_) return;
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

void AtomicFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && !failure_) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fail("cannot write");
    }
  }
  buffer_.clear();
}

MaybeError AtomicFile::close() {
  if (fd_ >= 0) {
    flush();
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR && !failure_) fail("cannot write");
  }
  return failure_;
}

MaybeError AtomicFile::publish() {
  MUSTER_CHECK(fd_ < 0 && leftover_ && !failure_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail("cannot replace");
  } else {
    leftover_ = false;
  }
  return failure_;
}

void AtomicFile::fail(const char* what) {
  failure_ =
      Error{fmt::format("{}: {}: {}", path_, what, std::strerror(errno)), ErrorCode::kSystem};
}

MaybeError write_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.append(text);
  if (MaybeError refusal = file.close()) return refusal;
  return file.publish();
}

MaybeError make_directory(const std::string& dir) {
  std::error_code status;
  if (std::filesystem::is_directory(dir, status)) return std::nullopt;
  if (std::filesystem::exists(dir, status))
    return Error{dir + ": not a directory", ErrorCode::kSystem};
  std::filesystem::create_directories(dir, status);
  std::error_code ignored;
  if (std::filesystem::is_directory(dir, ignored)) return std::nullopt;
  return Error{fmt::format("{}: cannot create the directory: {}",
                           dir.empty() ? std::string("''") : dir, status.message()),
               ErrorCode::kSystem};
}

}  // namespace muster
