// Measures how fast the files of a cluster are read, in bytes per second: Philly's log in both
// layouts, and its utilization files. The files are generated (tests/philly_files.h) and written to
// the temporary directory once; the measurement includes reading them. /117325 is the whole log,
// /2880 two days.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "base/types/check.h"
#include "philly_files.h"
#include "workload/philly/json_batches.h"
#include "workload/philly/philly_job.h"
#include "workload/philly/philly_log.h"
#include "workload/philly/philly_use.h"

namespace muster {
namespace {

// Files by name. get() writes a file at its first use; the destructor removes all files.
class Files {
 public:
  Files()
      : folder_(std::filesystem::temp_directory_path() /
                ("muster_history_bench_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Files() { std::filesystem::remove_all(folder_); }

  template <class Options>
  const std::string& get(const std::string& name, void (*write)(const Options&, const TextSink&),
                         const Options& options) {
    std::string& path = paths_[name];
    if (!path.empty()) return path;
    path = folder_ / name;
    std::ofstream out(path, std::ios::binary);
    write(options, [&](std::string_view part) {
      out.write(part.data(), static_cast<std::streamsize>(part.size()));
    });
    return path;
  }

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::string> paths_;
};

Files& files() {
  static Files all;
  return all;
}

const std::string& log_file(std::int64_t jobs, JsonLayout layout) {
  PhillyJobs options;
  options.jobs = jobs;
  options.layout = layout;
  const char* const name = layout == JsonLayout::kIndented ? "indented_" : "compact_";
  return files().get(name + std::to_string(jobs), write_philly_log, options);
}

void count_bytes(benchmark::State& state, const std::string& path) {
  state.SetBytesProcessed(static_cast<std::int64_t>(std::filesystem::file_size(path)) *
                          static_cast<std::int64_t>(state.iterations()));
}

void read_log(benchmark::State& state, JsonLayout layout) {
  const std::string& path = log_file(state.range(0), layout);
  std::optional<Result<History>> history;
  for (auto _ : state) {
    history.emplace(read_philly_log(path));
    MUSTER_CHECK(history->ok());
    state.PauseTiming();  // Freeing the history is not part of the measurement.
    history.reset();
    state.ResumeTiming();
  }
  count_bytes(state, path);
}

void BM_ReadIndentedLog(benchmark::State& state) { read_log(state, JsonLayout::kIndented); }
BENCHMARK(BM_ReadIndentedLog)->Arg(1000)->Arg(117'325)->Unit(benchmark::kMillisecond);

void BM_ReadCompactLog(benchmark::State& state) { read_log(state, JsonLayout::kCompact); }
BENCHMARK(BM_ReadCompactLog)->Arg(1000)->Arg(117'325)->Unit(benchmark::kMillisecond);

// Only finds where jobs begin and end. BM_ParseLog also parses them.
void BM_CutLog(benchmark::State& state) {
  const std::string& path = log_file(state.range(0), JsonLayout::kIndented);
  for (auto _ : state) {
    JsonBatches batches(ByteSource::open(path).value());
    while (batches.next().value()) benchmark::DoNotOptimize(batches.objects());
  }
  count_bytes(state, path);
}
BENCHMARK(BM_CutLog)->Arg(1000)->Arg(117'325)->Unit(benchmark::kMillisecond);

void BM_ParseLog(benchmark::State& state) {
  const std::string& path = log_file(state.range(0), JsonLayout::kIndented);
  for (auto _ : state) {
    JsonBatches batches(ByteSource::open(path).value());
    PhillyJobParser parser;
    while (batches.next().value()) {
      const auto look_at = [](const LoggedJob& job) { benchmark::DoNotOptimize(job); };
      MUSTER_CHECK(parser.parse(batches, look_at));
    }
  }
  count_bytes(state, path);
}
BENCHMARK(BM_ParseLog)->Arg(1000)->Arg(117'325)->Unit(benchmark::kMillisecond);

// Returns a file with as many minutes as the benchmark's argument.
const std::string& minutes_file(const std::string& kind,
                                void (*write)(const PhillyMinutes&, const TextSink&),
                                const benchmark::State& state) {
  PhillyMinutes options;
  options.minutes = state.range(0);
  return files().get(kind + std::to_string(options.minutes), write, options);
}

// The rows are joined with the attempts of the whole log; for small arguments, of a small log.
void BM_ReadGpuUse(benchmark::State& state) {
  const std::string& path = minutes_file("gpu_", write_philly_gpu_use, state);
  const std::int64_t jobs = state.range(0) < 100 ? 1000 : 117'325;
  History history = read_philly_log(log_file(jobs, JsonLayout::kCompact)).value();
  for (auto _ : state) {
    UseStudy study;
    MUSTER_CHECK(!add_gpu_use(only(ByteSource::open(path).value()), history, study));
    benchmark::DoNotOptimize(study);
  }
  count_bytes(state, path);
}
BENCHMARK(BM_ReadGpuUse)->Arg(10)->Arg(2880)->Unit(benchmark::kMillisecond);

// Reads a file of CPU or memory utilization with `add`.
void read_use(benchmark::State& state, const std::string& path,
              MaybeError (*add)(ByteSource source, UseStudy& study)) {
  for (auto _ : state) {
    UseStudy study;
    MUSTER_CHECK(!add(ByteSource::open(path).value(), study));
    benchmark::DoNotOptimize(study);
  }
  count_bytes(state, path);
}

void BM_ReadCpuUse(benchmark::State& state) {
  read_use(state, minutes_file("cpu_", write_philly_cpu_use, state), add_cpu_use);
}
BENCHMARK(BM_ReadCpuUse)->Arg(10)->Arg(2880)->Unit(benchmark::kMillisecond);

void BM_ReadMemUse(benchmark::State& state) {
  read_use(state, minutes_file("mem_", write_philly_mem_use, state), add_mem_use);
}
BENCHMARK(BM_ReadMemUse)->Arg(10)->Arg(2880)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster
