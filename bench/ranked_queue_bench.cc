// Measures the queue of waiting jobs at lengths from 10 to 100,000. Insertion and removal should
// take O(log n) time. Getting the first job should be free if no job overtakes another.

#include <benchmark/benchmark.h>

#include <vector>

#include "base/types/random.h"
#include "engine/chain/ranked_queue.h"

namespace muster {
namespace {

// Static ranks, as in srtf, stay the same while a job waits. Moving ranks, as in ftf, improve with
// time, faster for short jobs, so jobs overtake each other.
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
  // Removes one job and inserts another, so the length stays the same.
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

// One event of a run: a second passes, one job leaves, another arrives, and the first job is read.
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

// Reads the first ten jobs in order, as a preemptive policy does.
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
