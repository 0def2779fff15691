#include "exec/lease/progress_cap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace muster {
namespace {

constexpr std::string_view kHeader = "{\"muster_removed\":";
constexpr std::size_t kHeaderBytes = 48;  // With the line end.
constexpr std::int64_t kBlock = 4096;
constexpr std::int64_t kBusy = -1;
constexpr std::int64_t kMaxRemoved = std::int64_t{1} << 62;

// Returns a header line of `bytes` bytes, filled with spaces.
std::string header_line(std::int64_t removed, std::size_t bytes) {
  std::string line = std::string(kHeader) + std::to_string(removed) + "}";
  line.resize(bytes - 1, ' ');
  return line + "\n";
}

bool write_at(int file, std::string_view text, std::int64_t at) {
  return ::pwrite(file, text.data(), text.size(), at) == static_cast<ssize_t>(text.size());
}

std::string read_at(int file, std::int64_t at, std::size_t bytes) {
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(file, text.data(), bytes, at);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::int64_t size_of(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 ? facts.st_size : 0;
}

// Moves the bytes from `from` on to the start of the file. A line that the job appends between the
// last size_of() and ftruncate() is lost; this takes microseconds. So are lines of a job that
// appends faster than this function copies.
void move_to_start(int file, std::int64_t from) {
  std::int64_t done = 0;
  for (std::int64_t size = size_of(file); from + done < size; size = size_of(file)) {
    const auto rest = static_cast<std::size_t>(std::min(size - from - done, kMaxProgressBytes));
    const std::string text = read_at(file, from + done, rest);
    if (text.empty() || !write_at(file, text, done)) break;
    done += static_cast<std::int64_t>(text.size());
    if (done > kMaxProgressBytes) break;
  }
  if (::ftruncate(file, done) != 0) return;
}

}  // namespace

void cap_progress(const Fd& directory) {
  const Fd fd(::openat(directory.get(), kProgressName,
                       O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  const int file = fd.get();
  struct stat facts {};
  if (!fd.open() || ::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_uid != ::geteuid() || facts.st_nlink != 1 || facts.st_size <= kMaxProgressBytes) {
    return;
  }
  // A busy header that a killed shim left is replaced, too.
  const std::int64_t before = progress_removed(file).value_or(0);
  const std::int64_t from = (facts.st_size - kMaxProgressBytes / 2) / kBlock * kBlock;
  // The header replaces the first line that is kept, which is incomplete.
  const std::string start = read_at(file, from, 2 * kMaxProgressLine);
  const std::size_t end = start.find('\n', kHeaderBytes - 1);
  const std::size_t bytes = end == start.npos ? kHeaderBytes : end + 1;
  // Both starts are busy, so a reader never takes one for the other.
  const std::string busy = header_line(kBusy, bytes);
  if (!write_at(file, busy, from) || !write_at(file, busy, 0)) return;
  // Some file systems remove the range atomically, so that no appended line is lost.
  if (::fallocate(file, FALLOC_FL_COLLAPSE_RANGE, 0, from) != 0) move_to_start(file, from);
  write_at(file, header_line(std::min(before + from, kMaxRemoved), bytes), 0);
}

std::optional<std::int64_t> progress_removed(int file) {
  const std::string text = read_at(file, 0, kHeaderBytes);
  if (!is_progress_header(text)) return 0;
  const std::int64_t removed = std::strtoll(text.c_str() + kHeader.size(), nullptr, 10);
  if (removed < 0 || removed > kMaxRemoved) return std::nullopt;
  return removed;
}

bool is_progress_header(std::string_view line) { return line.starts_with(kHeader); }

}  // namespace muster
