#include "exec/machine/progress_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/files.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::int64_t kMaxRead = 64 << 10;
constexpr std::size_t kMaxLine = 4096;
constexpr int kMaxDepth = 4;
constexpr std::int64_t kLastSecond = 100'000'000'000;  // Since 1970. File times can be arbitrary.

}  // namespace

std::optional<ProgressFile::News> ProgressFile::look() {
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return std::nullopt;
  }
  if (facts.st_size == offset_) return std::nullopt;
  if (facts.st_size < offset_) offset_ = 0;  // The file was truncated.
  const std::int64_t from = std::max<std::int64_t>(offset_, facts.st_size - kMaxRead);
  std::string text(static_cast<std::size_t>(facts.st_size - from), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), from);
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  const std::size_t last = text.rfind('\n');
  if (last == std::string::npos) return std::nullopt;  // No complete line yet.
  offset_ = from + static_cast<std::int64_t>(last) + 1;
  News news;
  const auto second = std::clamp<std::int64_t>(facts.st_mtim.tv_sec, 0, kLastSecond);
  news.unix_us = second * 1'000'000 + facts.st_mtim.tv_nsec / 1000;
  for (std::size_t begin = 0; begin <= last;) {
    const std::size_t end = text.find('\n', begin);
    news.lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return news;
}

json progress_object(std::string_view line) {
  if (line.empty() || line.size() > kMaxLine) return nullptr;
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
