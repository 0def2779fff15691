#include "base/file/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/text.h"

namespace muster {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

// Returns "; did you mean 'jobs.csv'?" if the same directory has a file with a similar name.
std::string nearby_file(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr std::size_t kMaxLooked = 1000;
  const fs::path wanted(path);
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::error_code status;
  std::vector<std::string> names;
  for (fs::directory_iterator i(folder, status), end; !status && i != end; i.increment(status)) {
    if (names.size() == kMaxLooked) break;
    names.push_back(i->path().filename().string());
  }
  std::sort(names.begin(), names.end());  // Directory entries have no fixed order.
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest(wanted.filename().string(), candidates);
  if (near.empty()) return "";
  return fmt::format("; did you mean {}?", in_quotes(near));
}

Error unreadable(const std::string& path, int reason) {
  if (reason == ENOENT) return {fmt::format("{}: no such file{}", path, nearby_file(path))};
  return {fmt::format("{}: cannot be read: {}", path, std::generic_category().message(reason))};
}

Error too_large(const std::string& path) {
  return {fmt::format("{}: larger than the limit of {} MiB", path, kLargestFile >> 20)};
}

}  // namespace

ReadableFile::ReadableFile(std::string path, int descriptor, std::size_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

ReadableFile::ReadableFile(ReadableFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

ReadableFile& ReadableFile::operator=(ReadableFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

ReadableFile::~ReadableFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<ReadableFile> ReadableFile::open(const std::string& path, Pipes pipes) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return unreadable(path, errno);
  if (S_ISDIR(facts.st_mode)) return Error{path + ": a directory, not a file"};
  const bool pipe = S_ISFIFO(facts.st_mode) && pipes == Pipes::kTaken;
  if (!S_ISREG(facts.st_mode) && !pipe) {
    return Error{path + (pipes == Pipes::kTaken ? ": neither a file nor a pipe" : ": not a file")};
  }
  // O_NONBLOCK: open() must not block if a pipe has replaced the file since stat().
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (pipe ? 0 : O_NONBLOCK));
  if (descriptor < 0) return unreadable(path, errno);
  return ReadableFile(path, descriptor,
                      static_cast<std::size_t>(std::max<off_t>(facts.st_size, 0)));
}

Result<std::size_t> ReadableFile::read(char* to, std::size_t most) {
  while (true) {
    const ssize_t got = ::read(descriptor_, to, most);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return unreadable(path_, errno);
  }
}

bool looks_binary(std::string_view text) {
  return text.substr(0, 1024).find('\0') != std::string_view::npos;
}

Result<std::string> read_text_file(const std::string& path, Pipes pipes) {
  Result<ReadableFile> file = ReadableFile::open(path, pipes);
  if (!file.ok()) return file.error();
  const std::size_t size = file.value().size();
  if (size > kLargestFile) return too_large(path);

  // One extra byte, so that the loop finds the end of the file without growing the buffer.
  std::string text(std::max(size + 1, kChunk), '\0');
  std::size_t filled = 0;
  while (true) {
    if (filled == text.size()) text.resize(std::min(2 * text.size(), kLargestFile + 1));
    const Result<std::size_t> got = file.value().read(text.data() + filled, text.size() - filled);
    if (!got.ok()) return got.error();
    if (got.value() == 0) break;
    filled += got.value();
    if (looks_binary(std::string_view(text).substr(0, filled))) {
      return Error{path + ":1: not a text file"};
    }
    if (filled > kLargestFile) return too_large(path);
  }
  text.resize(filled);
  return text;
}

}  // namespace muster
