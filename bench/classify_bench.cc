// Measures how fast logs are classified, in bytes per second: a normal training log, and worst-case
// logs.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "exec/diagnose/classifier.h"
#include "exec/diagnose/signatures_file.h"

namespace muster {
namespace {

std::string repeated(std::string_view line, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += line;
  return out;
}

std::string training(std::size_t bytes) {
  std::string out;
  for (int step = 0; out.size() < bytes; ++step) {
    out += fmt::format(
        "2024-05-14 23:{:02}:{:02},{:03} INFO trainer: epoch {} step {} loss {:.4f} lr 1.0e-04 "
        "grad_norm {:.3f} {:.1f} samples/s\n",
        step / 60 % 60, step % 60, step % 1000, step / 5000, step, 9.0 / (step + 1), step % 7 * 0.3,
        811.5);
    if (step % 1000 == 0) out += "WARNING reader: Connection reset by peer, retrying in 1s\n";
  }
  return out + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
}

void run(benchmark::State& state, const std::string& text) {
  const Signatures signatures(builtin_signatures());
  AttemptLogs attempt;
  attempt.ranks.push_back({0, text, 1, {}, {}, {}});
  for (auto _ : state) benchmark::DoNotOptimize(classify(attempt, signatures).line);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

std::size_t bytes_of(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0)) << 20U;
}

void BM_Training(benchmark::State& state) { run(state, training(bytes_of(state))); }
void BM_OneLine(benchmark::State& state) { run(state, std::string(bytes_of(state), 'x')); }
void BM_Newlines(benchmark::State& state) { run(state, std::string(bytes_of(state), '\n')); }
void BM_Tracebacks(benchmark::State& state) {
  run(state, repeated("Traceback (most recent call last):\n", bytes_of(state)));
}
// After an error, the classifier checks every line, because training may continue.
void BM_AfterAnError(benchmark::State& state) {
  run(state, "KeyError: 1\n" +
                 repeated("dumping the state of worker 17, which is long\n", bytes_of(state)));
}
// Lines that pass the prefilter of as many signatures as possible, but match none.
void BM_NearMisses(benchmark::State& state) {
  run(state, repeated("error fail cuda nccl memory connection file data output checkpoint saving "
                      "version shape expected loss nan- version signal exit code 13\n",
                      bytes_of(state)));
}
void BM_Start(benchmark::State& state) {
  for (auto _ : state) {
    const Signatures signatures(builtin_signatures());
    benchmark::DoNotOptimize(signatures.list().size());
  }
}

BENCHMARK(BM_Training)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_OneLine)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Newlines)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Tracebacks)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AfterAnError)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_NearMisses)->Arg(1)->Arg(100)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Start)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster
