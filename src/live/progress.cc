#include "live/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "shim/files.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::int64_t kMostRead = 64 << 10;
constexpr std::size_t kMostLine = 4096;
constexpr double kMostCounted = 1e18;

std::optional<double> number(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// Sizes and counts, or nothing.
std::optional<CacheUse> read_cache(const json& line) {
  const auto found = line.find("cache");
  if (found == line.end() || !found->is_object()) return std::nullopt;
  CacheUse use;
  for (const auto& [key, into] :
       {std::pair("hits", &use.hits), std::pair("misses", &use.misses),
        std::pair("held_bytes", &use.held_bytes), std::pair("budget_bytes", &use.budget_bytes),
        std::pair("dataset_bytes", &use.dataset_bytes), std::pair("read_bytes", &use.read_bytes)}) {
    const double value = number(*found, key).value_or(0);
    if (value < 0 || value > kMostCounted) return std::nullopt;
    *into = value;
  }
  return use;
}

// A line that is no object of a few numbers says nothing.
bool take_line(std::string_view text, Progress& into, JobSeries* series, bool& saved) {
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
  const auto loss = number(line, "loss");
  if (loss) fresh.loss = loss;
  if (const auto rate = number(line, "rate")) fresh.rate = rate;
  if (const auto total = number(line, "total"); total && *total > 0) fresh.total = total;
  if (const auto cache = read_cache(line)) fresh.cache = cache;
  const auto said = line.find("saved");
  if (said != line.end() && said->is_boolean() && said->get<bool>()) saved = true;
  if (series != nullptr && loss && fresh.epoch) series->add_loss(*fresh.epoch, *loss);
  into = fresh;
  return true;
}

std::int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressReader::News ProgressReader::look(LiveId id, std::uint32_t lease,
                                          std::optional<Duration> ran) {
  Reading& reading = jobs_[id];
  if (reading.lease != lease) {
    reading.lease = lease;
    reading.offset = 0;
    reading.taken_up = false;
  }
  const bool of_before = std::exchange(reading.taken_up, false);
  const std::string path = fmt::format("{}/j{}.e{}/progress.jsonl", leases_, id, lease);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file.open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  if (facts.st_size == reading.offset) return {};
  if (facts.st_size < reading.offset) reading.offset = 0;  // Begun anew.
  reading.offset = std::max<std::int64_t>(reading.offset, facts.st_size - kMostRead);
  std::string text(static_cast<std::size_t>(facts.st_size - reading.offset), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), reading.offset);
  if (got <= 0) return {};
  text.resize(static_cast<std::size_t>(got));
  const std::size_t last = text.rfind('\n');
  if (last == std::string::npos) return {};  // The line is still being written.
  reading.offset += static_cast<std::int64_t>(last) + 1;
  News news;
  std::size_t begin = 0;
  while (begin <= last) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    news.any |= take_line(line, reading.last, ran ? &reading.series : nullptr, news.saved);
    begin = end + 1;
  }
  if (of_before) news.saved = false;
  reading.any |= news.any;
  reading.last.at_unix_ms = unix_ms();
  // When each line was written nobody knows who can be trusted; the last one only now.
  if (news.any && ran) {
    reading.series.add(ran->in_seconds(), lease, reading.last.step, reading.last.epoch,
                       reading.last.total);
  }
  return news;
}

void ProgressReader::take_up(LiveId id, std::uint32_t lease) {
  jobs_[id].lease = lease;
  jobs_[id].taken_up = true;
}

const Progress* ProgressReader::find(LiveId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() || !found->second.any ? nullptr : &found->second.last;
}

const JobSeries* ProgressReader::series(LiveId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() || found->second.series.empty() ? nullptr : &found->second.series;
}

}  // namespace muster
