#pragma once

// Made-up files in the formats of the public Philly trace, which is too large to carry along:
// sizes, run times, waits, statuses and every oddity at about the rates of the real one. For tests
// and benchmarks. The same options give the same bytes on every machine.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

enum class JsonLayout : std::uint8_t {
  kIndented,  // As published: four blanks a level, a GPU a line.
  kCompact,   // A job a line, without blanks.
};

struct PhillyJobs {
  std::int64_t jobs = 117'325;
  std::uint64_t seed = 1;
  JsonLayout layout = JsonLayout::kIndented;
};

using TextSink = std::function<void(std::string_view)>;

// cluster_job_log. Jobs come in no order of time.
void write_philly_log(const PhillyJobs& options, const TextSink& sink);

// cluster_machine_list. As the real one, it contradicts the log.
void write_philly_machines(const TextSink& sink);

// So many minutes of all 552 servers from a wall-clock time on, such as "2017-11-05 00:00:00",
// which must be in summer time; the change of 5 November is crossed where it is reached.
struct PhillyMinutes {
  std::string_view from = "2017-10-03 00:00:00";
  std::int64_t minutes = 60;
  std::uint64_t seed = 1;
};
void write_philly_gpu_use(const PhillyMinutes& options, const TextSink& sink);
void write_philly_cpu_use(const PhillyMinutes& options, const TextSink& sink);
void write_philly_mem_use(const PhillyMinutes& options, const TextSink& sink);

// What a writer above writes, as one text.
template <class Options>
std::string written(void (*write)(const Options&, const TextSink&), const Options& options) {
  std::string text;
  write(options, [&](std::string_view part) { text += part; });
  return text;
}

}  // namespace muster
