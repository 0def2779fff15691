#include "exec/lease/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace muster {

std::string log_name(int number) {
  return number == 0 ? "out.log" : "out.log." + std::to_string(number);
}

LogFile::LogFile(const Fd& directory, std::int64_t cap_bytes, int old_files)
    : directory_(directory.get()),
      cap_(cap_bytes),
      line_room_(static_cast<std::size_t>(std::min<std::int64_t>(4096, cap_bytes / 4))),
      old_files_(old_files) {
  open();
}

bool LogFile::open() {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  file_ = Fd(::openat(directory_, "out.log", kFlags, 0600));
  struct stat facts {};
  if (!file_.open() || ::fstat(file_.get(), &facts) != 0) return false;
  size_ = facts.st_size;
  return true;
}

void LogFile::lose(std::size_t bytes, int error_number) {
  lost_ += static_cast<std::int64_t>(bytes);
  if (trouble_.empty()) trouble_ = std::strerror(error_number);
}

void LogFile::rotate() {
  file_.reset();
  if (old_files_ == 0) ::unlinkat(directory_, "out.log", 0);
  for (int n = old_files_; n > 0; --n) {
    ::renameat(directory_, log_name(n - 1).c_str(), directory_, log_name(n).c_str());
  }
  size_ = 0;
}

void LogFile::put(std::string_view text) {
  if (!file_.open() && !open()) return lose(text.size(), errno);
  while (!text.empty()) {
    const ssize_t n = ::write(file_.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return lose(text.size(), errno);
    size_ += n;
    line_done_ = text[static_cast<std::size_t>(n) - 1] == '\n';
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void LogFile::write(std::string_view text) {
  while (!text.empty()) {
    const auto room = static_cast<std::size_t>(cap_ > size_ ? cap_ - size_ : 0);
    if (text.size() + line_room_ <= room) return put(text);
    const std::size_t whole_lines = text.substr(0, room).rfind('\n') + 1;  // npos + 1 is 0.
    if (whole_lines > 0) {
      put(text.substr(0, whole_lines));
      text.remove_prefix(whole_lines);
    } else if (line_done_ && size_ > 0) {
      rotate();  // A line without an end in this file begins the next file.
    } else {
      const std::size_t cut = std::min(room, text.size());
      put(text.substr(0, cut));
      text.remove_prefix(cut);
      if (!text.empty()) rotate();
    }
  }
}

}  // namespace muster
