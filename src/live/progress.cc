#include "live/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
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

// A line that is no object of a few numbers says nothing.
bool take_line(std::string_view text, Progress& into, bool& saved) {
  if (text.empty() || text.size() > kMostLine) return false;
  int depth = 0;
  const auto shallow = [&depth](int, json::parse_event_t event, json&) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      return ++depth <= 4;
    }
    return true;
  };
  const json line = json::parse(text, shallow, false);
  if (!line.is_object()) return false;
  Progress fresh = into;
  if (const auto step = number(line, "step")) fresh.step = step;
  if (const auto epoch = number(line, "epoch")) fresh.epoch = epoch;
  if (const auto loss = number(line, "loss")) fresh.loss = loss;
  if (const auto rate = number(line, "rate")) fresh.rate = rate;
  const auto said = line.find("saved");
  if (said != line.end() && said->is_boolean() && said->get<bool>()) saved = true;
  into = fresh;
  return true;
}

std::int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

bool ProgressReader::look(LiveId id, std::uint32_t lease) {
  Reading& reading = jobs_[id];
  if (reading.lease != lease) {
    reading.lease = lease;
    reading.offset = 0;
  }
  const std::string path = fmt::format("{}/j{}.e{}/progress.jsonl", leases_, id, lease);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  if (facts.st_size == reading.offset) return false;
  if (facts.st_size < reading.offset) reading.offset = 0;  // Begun anew.
  reading.offset = std::max<std::int64_t>(reading.offset, facts.st_size - kMostRead);
  std::string text(static_cast<std::size_t>(facts.st_size - reading.offset), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), reading.offset);
  if (got <= 0) return false;
  text.resize(static_cast<std::size_t>(got));
  const std::size_t last = text.rfind('\n');
  if (last == std::string::npos) return false;  // The line is still being written.
  reading.offset += static_cast<std::int64_t>(last) + 1;
  bool saved = false;
  std::size_t begin = 0;
  while (begin <= last) {
    const std::size_t end = text.find('\n', begin);
    if (take_line(std::string_view(text).substr(begin, end - begin), reading.last, saved)) {
      reading.any = true;
    }
    begin = end + 1;
  }
  reading.last.at_unix_ms = unix_ms();
  return saved;
}

const Progress* ProgressReader::find(LiveId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() || !found->second.any ? nullptr : &found->second.last;
}

}  // namespace muster
