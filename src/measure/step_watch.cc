#include "measure/step_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "shim/files.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::int64_t kMostRead = 64 << 10;
constexpr std::size_t kMostLine = 4096;

std::optional<double> number(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool take_line(std::string_view text, StepSeen& into) {
  if (text.empty() || text.size() > kMostLine) return false;
  int depth = 0;
  const auto shallow = [&depth](int, json::parse_event_t event, json&) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    return !opens || ++depth <= 4;
  };
  const json line = json::parse(text, shallow, false);
  if (!line.is_object()) return false;
  const std::optional<double> step = number(line, "step");
  if (!step) return false;
  into.step = *step;
  into.epoch = number(line, "epoch");
  return true;
}

}  // namespace

std::optional<StepSeen> StepWatch::look() {
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return std::nullopt;
  }
  if (facts.st_size == offset_) return std::nullopt;
  if (facts.st_size < offset_) offset_ = 0;  // Begun anew.
  const std::int64_t from = std::max<std::int64_t>(offset_, facts.st_size - kMostRead);
  std::string text(static_cast<std::size_t>(facts.st_size - from), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), from);
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  const std::size_t last = text.rfind('\n');
  if (last == std::string::npos) return std::nullopt;  // The line is still being written.
  offset_ = from + static_cast<std::int64_t>(last) + 1;
  StepSeen seen;
  seen.unix_us = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000 + facts.st_mtim.tv_nsec / 1000;
  // Backwards: only the last that says something counts.
  std::size_t end = last;
  while (true) {
    const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    if (take_line(std::string_view(text).substr(begin, end - begin), seen)) return seen;
    if (before == std::string::npos) return std::nullopt;
    end = before;
  }
}

}  // namespace muster
