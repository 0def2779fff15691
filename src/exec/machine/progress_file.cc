#include "exec/machine/progress_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/files.h"
#include "base/os/processes.h"
#include "exec/lease/progress_cap.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::int64_t kFirstRead = 64 << 10;
constexpr int kReadTries = 3;
constexpr int kMaxDepth = 4;
constexpr std::int64_t kLastSecond = 100'000'000'000;  // Since 1970. File times can be arbitrary.

// Returns the file if it is a regular file of the owner of its directory.
Fd open_regular(const std::string& path, struct stat& facts) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  struct stat owner {};
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      ::stat(folder.empty() ? "." : folder.c_str(), &owner) != 0 || facts.st_uid != owner.st_uid) {
    return {};
  }
  return file;
}

}  // namespace

// Reads again if the shim shortens the file at the same time.
std::optional<ProgressFile::Piece> ProgressFile::read_new(int file, std::int64_t size) const {
  for (int i = 0; i < kReadTries; ++i) {
    const std::optional<std::int64_t> removed = progress_removed(file);
    struct stat facts {};
    if (i > 0 && ::fstat(file, &facts) == 0) size = facts.st_size;
    if (!removed) continue;
    const std::int64_t end = *removed + size;
    Piece piece;
    // The job has replaced or truncated the file if it is shorter than before.
    piece.since = position_ <= end ? std::max(position_, std::int64_t{0}) : *removed;
    const std::int64_t most = looked_us_ == 0 ? kFirstRead : kMaxProgressBytes;
    piece.from = std::max({piece.since, *removed, end - most});
    piece.text.resize(static_cast<std::size_t>(end - piece.from));
    const ssize_t got = ::pread(file, piece.text.data(), piece.text.size(), piece.from - *removed);
    if (progress_removed(file) != removed) continue;
    piece.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    piece.text.resize(piece.text.rfind('\n') + 1);
    return piece;
  }
  return std::nullopt;
}

// Keeps the last lines, because they are the most recent.
void ProgressFile::keep_allowed(News& news, std::size_t allowed) const {
  const std::size_t all = news.lines.size();
  std::erase_if(news.lines, [](const std::string& line) { return line.size() > kMaxProgressLine; });
  if (looked_us_ != 0 && news.lines.size() > allowed) {
    news.lines.erase(news.lines.begin(), news.lines.end() - static_cast<std::ptrdiff_t>(allowed));
  }
  news.dropped_lines = static_cast<std::int64_t>(all - news.lines.size());
}

std::optional<ProgressFile::News> ProgressFile::look() {
  struct stat facts {};
  const Fd file = open_regular(path_, facts);
  if (!file.open()) return std::nullopt;
  const std::optional<Piece> piece = read_new(file.get(), facts.st_size);
  if (!piece) return std::nullopt;
  const std::int64_t now = boot_micros();
  News news;
  if (looked_us_ != 0) news.skipped_bytes = piece->from - piece->since;
  if (piece->text.empty() && news.skipped_bytes == 0) return std::nullopt;
  position_ = piece->from + static_cast<std::int64_t>(piece->text.size());
  const auto second = std::clamp<std::int64_t>(facts.st_mtim.tv_sec, 0, kLastSecond);
  news.unix_us = second * 1'000'000 + facts.st_mtim.tv_nsec / 1000;
  for (std::size_t begin = 0; begin < piece->text.size();) {
    const std::size_t end = piece->text.find('\n', begin);
    std::string line = piece->text.substr(begin, end - begin);
    begin = end + 1;
    if (!is_progress_header(line)) news.lines.push_back(std::move(line));
  }
  const std::int64_t seconds = (now - looked_us_) / 1'000'000 + 1;
  keep_allowed(news, static_cast<std::size_t>(seconds * kMaxProgressRate));
  looked_us_ = now;
  return news;
}

json progress_object(std::string_view line) {
  if (line.empty() || line.size() > kMaxProgressLine) return nullptr;
  int depth = 0;
  const auto shallow = [&depth](int, json::parse_event_t event, json&) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    return !opens || ++depth <= kMaxDepth;
  };
  return json::parse(line, shallow, false);
}

std::optional<double> number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace muster
