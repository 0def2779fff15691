// Measures the journal of the live manager on the disk of the temporary directory: durable submits
// by group size, typical queries of 10,000 jobs, opening the file, and memory.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/os/testing.h"
#include "live/store/job_reader.h"
#include "live/store/journal.h"

namespace muster {
namespace {

double resident_mb() {
  std::ifstream status("/proc/self/statm");
  double pages = 0;
  status >> pages >> pages;
  return pages * 4096 / 1e6;
}

// Writes the data of one submit: the entry, the row and the idempotency key.
void submit(Journal& journal, bool over) {
  const std::uint64_t id = journal.next_id();
  JobRow job;
  job.id = id;
  job.key = fmt::format("{:x}", id * 0x9e3779b97f4a7c15ULL);
  job.tenant = fmt::format("tenant-{}", id % 5);
  job.user = fmt::format("user-{}", id % 50);
  job.name = "train";
  job.state = over ? "finished" : "queued";
  job.spec = fmt::format(R"({{"command": "python train.py --lr 0.{}", "gpus": 4, "env": "{}"}})",
                         id, std::string(400, 'x'));
  job.submitted = Instant::micros(static_cast<std::int64_t>(id));
  if (over) job.ended = job.submitted + Duration::seconds(60);
  MUSTER_CHECK(journal.append({"submit", job.submitted, job.spec}).ok());
  MUSTER_CHECK(!journal.keep_key(job.user, job.key, id));
  MUSTER_CHECK(!journal.put(std::move(job)));
}

void BM_DurableSubmits(benchmark::State& state) {
  const Folder folder;
  Journal journal = Journal::open(folder / "j.db").value();
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) submit(journal, false);
    MUSTER_CHECK(!journal.commit());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["commits"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_DurableSubmits)->Arg(1)->Arg(8)->Arg(64)->UseRealTime();

struct Filled {
  explicit Filled(std::int64_t jobs) {
    Journal journal = Journal::open(folder / "j.db").value();
    for (std::int64_t i = 0; i < jobs; ++i) submit(journal, i % 10 != 0);
    MUSTER_CHECK(!journal.commit());
  }
  Folder folder;
};

void query(benchmark::State& state, const JobFilter& filter) {
  const Filled filled(state.range(0));
  const Journal journal = Journal::open(filled.folder / "j.db").value();
  JobReader history = JobReader::open(filled.folder / "j.db").value();
  for (auto _ : state) benchmark::DoNotOptimize(history.jobs(filter).value().size());
  state.counters["resident_mb"] = resident_mb();
  state.counters["file_mb"] =
      static_cast<double>(std::filesystem::file_size(filled.folder / "j.db")) / 1e6;
}
void BM_NewestFifty(benchmark::State& state) { query(state, {}); }
void BM_NewestFiftyOfAUserInAState(benchmark::State& state) {
  JobFilter filter;
  filter.states = {"queued"};
  filter.user = "user-10";
  query(state, filter);
}
BENCHMARK(BM_NewestFifty)->Arg(100)->Arg(10'000);
BENCHMARK(BM_NewestFiftyOfAUserInAState)->Arg(100)->Arg(10'000);

void BM_Prefix(benchmark::State& state) {
  const Filled filled(state.range(0));
  JobReader history = JobReader::open(filled.folder / "j.db").value();
  for (auto _ : state) benchmark::DoNotOptimize(history.jobs_beginning("99", 20).value().size());
}
BENCHMARK(BM_Prefix)->Arg(100)->Arg(10'000);

// Includes the check of the whole file and reading all entries.
void BM_Recover(benchmark::State& state) {
  const Filled filled(state.range(0));
  for (auto _ : state) {
    Journal journal = Journal::open(filled.folder / "j.db").value();
    std::uint64_t entries = 0;
    MUSTER_CHECK(!journal.for_each_from(1, [&](std::uint64_t, const JournalEntry&) { ++entries; }));
    MUSTER_CHECK(entries == static_cast<std::uint64_t>(state.range(0)));
  }
}
BENCHMARK(BM_Recover)->Arg(100)->Arg(10'000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster
