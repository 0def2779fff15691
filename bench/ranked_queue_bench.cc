// The queue of waiting jobs at lengths from ten to a hundred thousand: insertion and removal should
// grow with the logarithm, the first job should cost nothing when nobody overtakes anybody.

#include <benchmark/benchmark.h>

#include <vector>

#include "base/types/random.h"
#include "engine/chain/ranked_queue.h"

namespace muster {
namespace {

// Static ranks are those of srtf and the like: they hold for as long as the job waits. Moving ones
// are those of ftf: all improve, the short jobs' faster, so that they overtake each other.
enum class Ranks { kStatic, kMoving };

Rank draw(Ranks ranks, Random& random, Instant now) {
  const auto estimate = static_cast<std::int64_t>(1 + random.below(100'000)) * 1'000'000;
  if (ranks == Ranks::kStatic) return {estimate};
  return {now.us() - estimate, -1, estimate};
}

struct FullQueue {
  FullQueue(Ranks kind, std::int64_t length) : ranks(kind), random(1) {
    for (std::int64_t i = 0; i < length; ++i) push();
  }
  void push() { slots.push_back(queue.insert(JobId(jobs++), draw(ranks, random, now), now)); }
  // Somebody leaves and somebody comes, so the length stays.
  void exchange() {
    const std::size_t gone = random.below(slots.size());
    queue.remove(slots[gone], now);
    slots[gone] = queue.insert(JobId(jobs++), draw(ranks, random, now), now);
  }

  Ranks ranks;
  Random random;
  RankedQueue queue;
  std::vector<RankedQueue::Slot> slots;
  std::uint32_t jobs = 0;
  Instant now = Instant::micros(1'000'000);
};

void insert_and_remove(benchmark::State& state, Ranks ranks) {
  FullQueue full(ranks, state.range(0));
  for (auto _ : state) full.exchange();
}
void BM_InsertRemoveStatic(benchmark::State& state) { insert_and_remove(state, Ranks::kStatic); }
void BM_InsertRemoveMoving(benchmark::State& state) { insert_and_remove(state, Ranks::kMoving); }
BENCHMARK(BM_InsertRemoveStatic)->RangeMultiplier(10)->Range(10, 100'000);
BENCHMARK(BM_InsertRemoveMoving)->RangeMultiplier(10)->Range(10, 100'000);

// A second passes, one job leaves and another comes, and the first is wanted: one event of a run.
void first_after_a_second(benchmark::State& state, Ranks ranks) {
  FullQueue full(ranks, state.range(0));
  for (auto _ : state) {
    full.now = full.now + Duration::seconds(1);
    full.queue.advance(full.now);
    full.exchange();
    benchmark::DoNotOptimize(full.queue.first());
  }
}
void BM_FirstStatic(benchmark::State& state) { first_after_a_second(state, Ranks::kStatic); }
void BM_FirstMoving(benchmark::State& state) { first_after_a_second(state, Ranks::kMoving); }
BENCHMARK(BM_FirstStatic)->RangeMultiplier(10)->Range(10, 100'000);
BENCHMARK(BM_FirstMoving)->RangeMultiplier(10)->Range(10, 100'000);

// The ten first in order, as a preemptive policy looks for them.
void BM_WalkTen(benchmark::State& state) {
  const FullQueue full(Ranks::kStatic, state.range(0));
  RankedQueue::Walk walk;
  for (auto _ : state) {
    walk.begin(full.queue, full.now);
    for (int i = 0; i < 10 && !walk.done(); ++i) walk.next();
    benchmark::DoNotOptimize(walk);
  }
}
BENCHMARK(BM_WalkTen)->RangeMultiplier(10)->Range(10, 100'000);

}  // namespace
}  // namespace muster
