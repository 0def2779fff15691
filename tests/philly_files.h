#pragma once

// Synthetic files in the formats of the public Philly trace, which is too large for the repository.
// Sizes, run times, waits, statuses and all special cases have about the frequencies of the real
// trace. For tests and benchmarks. The same options give the same bytes on every machine.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

enum class JsonLayout : std::uint8_t {
  kIndented,  // As published: four blanks per level, one GPU per line.
  kCompact,   // One job per line, without blanks.
};

struct PhillyJobs {
  std::int64_t jobs = 117'325;
  std::uint64_t seed = 1;
  JsonLayout layout = JsonLayout::kIndented;
};

using TextSink = std::function<void(std::string_view)>;

// Writes cluster_job_log. Jobs are not sorted by time.
void write_philly_log(const PhillyJobs& options, const TextSink& sink);

// Writes cluster_machine_list. Like the real one, it contradicts the log.
void write_philly_machines(const TextSink& sink);

// Options of the writers below, which cover all 552 nodes. `from` is a local time and must be in
// daylight saving time; the change on 5 November is applied.
struct PhillyMinutes {
  std::string_view from = "2017-10-03 00:00:00";
  std::int64_t minutes = 60;
  std::uint64_t seed = 1;
};
void write_philly_gpu_use(const PhillyMinutes& options, const TextSink& sink);
void write_philly_cpu_use(const PhillyMinutes& options, const TextSink& sink);
void write_philly_mem_use(const PhillyMinutes& options, const TextSink& sink);

// Returns the output of one of the writers above as text.
template <class Options>
std::string written(void (*write)(const Options&, const TextSink&), const Options& options) {
  std::string text;
  write(options, [&](std::string_view part) { text += part; });
  return text;
}

}  // namespace muster
