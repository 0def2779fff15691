#include "exec/lease/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "exec/lease/log_file.h"

namespace muster {
namespace {

constexpr int kMaxParts = 64;

}  // namespace

LogReader::LogReader(std::string directory) : path_(std::move(directory)) {
  parts_ = scan();
  for (const Part& part : parts_) size_ += part.size;
}

// O_NONBLOCK: open() must not block if the job has put a pipe there. A file of another owner is not
// read, because the job may have linked a file that only the manager can read.
LogReader::Part LogReader::open_part(int number) const {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Part part{Fd(::openat(directory_.get(), log_name(number).c_str(), kFlags)), 0, 0};
  struct stat facts {};
  struct stat owner {};
  if (!part.fd.open()) return part;
  if (::fstat(part.fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return Part{};
  if (::fstat(directory_.get(), &owner) != 0 || facts.st_uid != owner.st_uid) return Part{};
  part.inode = facts.st_ino;
  part.size = static_cast<std::uint64_t>(facts.st_size);
  return part;
}

// One name can be missing during a rotation, because the shim renames the files one by one.
std::vector<LogReader::Part> LogReader::scan_once() const {
  std::vector<Part> parts;
  int missing = 0;
  for (int number = 0; number < kMaxParts && missing < 2; ++number) {
    Part part = open_part(number);
    part.fd.open() ? parts.push_back(std::move(part)) : void(++missing);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// Scans until two results are equal. During a rotation, a scan can see a file twice or not at all.
std::vector<LogReader::Part> LogReader::scan() {
  if (!directory_.open()) {
    Result<Fd> opened = open_directory(path_);
    if (!opened.ok()) return {};
    directory_ = std::move(opened.value());
  }
  const auto same = [](const Part& a, const Part& b) { return a.inode == b.inode; };
  std::vector<Part> parts = scan_once();
  for (int i = 0; i < 8; ++i) {
    std::vector<Part> again = scan_once();
    const bool stable = std::equal(parts.begin(), parts.end(), again.begin(), again.end(), same);
    parts = std::move(again);
    if (stable) break;
  }
  return parts;
}

std::uint64_t LogReader::seek(std::int64_t offset) {
  const auto from_end = offset < 0 ? static_cast<std::uint64_t>(-(offset + 1)) + 1 : 0;
  std::uint64_t wanted = offset < 0 ? size_ - std::min(size_, from_end)
                                    : std::min(size_, static_cast<std::uint64_t>(offset));
  const std::uint64_t place = wanted;
  while (parts_.size() > 1 && wanted >= parts_.front().size) {
    wanted -= parts_.front().size;
    parts_.erase(parts_.begin());
  }
  at_ = wanted;
  return place;
}

std::string LogReader::read_front(std::size_t most) {
  std::string bytes(most, '\0');
  ssize_t n = -1;
  do {
    n = ::pread(parts_.front().fd.get(), bytes.data(), most, static_cast<off_t>(at_));
  } while (n < 0 && errno == EINTR);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  at_ += bytes.size();
  return bytes;
}

bool LogReader::front_is_newest() const {
  struct stat facts {};
  return ::fstatat(directory_.get(), "out.log", &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         facts.st_ino == parts_.front().inode;
}

// Moves to the file after the current one, which may have been renamed or deleted.
bool LogReader::go_to_newer() {
  std::vector<Part> parts = scan();
  const auto here = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
    return part.inode == parts_.front().inode;
  });
  if (here != parts.end()) parts.erase(parts.begin(), here + 1);
  if (parts.empty()) return false;
  parts_ = std::move(parts);
  at_ = 0;
  return true;
}

std::string LogReader::read(std::size_t most) {
  while (true) {
    if (parts_.empty()) parts_ = scan();
    if (parts_.empty()) return {};
    std::string bytes = read_front(most);
    if (!bytes.empty()) return bytes;
    if (parts_.size() > 1) {
      parts_.erase(parts_.begin());
      at_ = 0;
      continue;
    }
    if (front_is_newest()) return {};
    // The shim may have written to the file after the last read and before it renamed it.
    bytes = read_front(most);
    if (!bytes.empty()) return bytes;
    if (!go_to_newer()) return {};
  }
}

}  // namespace muster
