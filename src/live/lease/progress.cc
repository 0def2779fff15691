#include "live/lease/progress.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "live/lease/lease_log.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr double kMaxCounted = 1e18;

// Returns nullopt if there are no valid counters.
std::optional<CacheUse> read_cache(const json& line) {
  const auto found = line.find("cache");
  if (found == line.end() || !found->is_object()) return std::nullopt;
  CacheUse use;
  for (const auto& [key, into] :
       {std::pair("hits", &use.hits), std::pair("misses", &use.misses),
        std::pair("held_bytes", &use.held_bytes), std::pair("budget_bytes", &use.budget_bytes),
        std::pair("dataset_bytes", &use.dataset_bytes), std::pair("read_bytes", &use.read_bytes)}) {
    const double value = number_in(*found, key).value_or(0);
    if (value < 0 || value > kMaxCounted) return std::nullopt;
    *into = value;
  }
  return use;
}

// Ignores lines that are not an object of a few numbers.
bool take_line(std::string_view text, Progress& into, JobSeries* series, bool& saved,
               double& unwritten) {
  const json line = progress_object(text);
  if (!line.is_object()) return false;
  Progress fresh = into;
  if (const auto step = number_in(line, "step")) fresh.step = step;
  if (const auto epoch = number_in(line, "epoch")) fresh.epoch = epoch;
  const auto loss = number_in(line, "loss");
  if (loss) fresh.loss = loss;
  if (const auto rate = number_in(line, "rate")) fresh.rate = rate;
  if (const auto total = number_in(line, "total"); total && *total > 0) fresh.total = total;
  if (const auto cache = read_cache(line)) fresh.cache = cache;
  if (const auto lost = number_in(line, "dropped"); lost && *lost >= 0 && *lost <= kMaxCounted) {
    unwritten = *lost;
  }
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
    reading.taken_up = false;
    reading.file.reset();
  }
  const bool of_before = std::exchange(reading.taken_up, false);
  if (!reading.file) {
    reading.file.emplace(files_.progress_path(part_name(id, lease)));
  }
  const std::optional<ProgressFile::News> added = reading.file->look();
  if (!added) return {};
  News news;
  for (const std::string& line : added->lines) {
    news.any |= take_line(line, reading.last, ran ? &reading.series : nullptr, news.saved,
                          reading.unwritten);
  }
  if (of_before) news.saved = false;
  reading.dropped += static_cast<double>(added->dropped_lines);
  reading.last.dropped_lines = reading.dropped + reading.unwritten;
  reading.last.skipped_bytes += static_cast<double>(added->skipped_bytes);
  reading.any |= news.any || added->dropped_lines > 0 || added->skipped_bytes > 0;
  reading.last.at_unix_ms = unix_ms();
  // The times in the file are untrusted, so only the last line gets a time: now.
  if (news.any && ran) {
    reading.series.add(ran->in_seconds(), lease, reading.last.step, reading.last.epoch,
                       reading.last.total);
  }
  return news;
}

void ProgressReader::adopt(LiveId id, std::uint32_t lease) {
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
