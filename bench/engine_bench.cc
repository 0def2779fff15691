// Measures the cost of one event for every registered policy, on 512 GPUs with 0 to 100,000 waiting
// jobs. The counter per_event must stay constant: the cost of an event must not grow with the
// number of jobs that it does not concern.

#include <benchmark/benchmark.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "base/types/random.h"
#include "engine/chain/composed_planner.h"
#include "engine/core/engine.h"
#include "engine/mechanism/proportional.h"
#include "engine/placement/consolidate.h"
#include "engine/policy/registry.h"

namespace muster {
namespace {

constexpr std::int32_t kGpus = 512;

JobSpec job_of(std::int32_t gpus, std::int64_t estimate_s) {
  JobSpec spec;
  spec.gpus = gpus;
  spec.estimate = Duration::seconds(estimate_s);
  return spec;
}

// An engine with a minimal driver: leases start and stop immediately, and the benchmark ends jobs.
// Memory grows by one row per job, as in a long run.
class Bed {
 public:
  Bed(const PolicyEntry& policy, Duration quantum)
      : topology_(parse_cluster_shorthand("64x8").value()), cluster_(topology_, profiles_) {
    EngineOptions options;
    options.quantum = quantum;
    engine_ =
        std::make_unique<Engine>(cluster_,
                                 std::make_unique<ComposedPlanner>(
                                     cluster_, policy.make({}), std::make_unique<Proportional>(),
                                     std::make_unique<Consolidate>(), ComposedPlannerOptions()),
                                 options);
  }

  void submit(const JobSpec& spec) { events_.push_back(JobSubmitted{spec}); }
  void end(JobId job, Epoch epoch) {
    events_.push_back(LeaseEnded{job, epoch, LeaseOutcome::kCompleted});
  }
  void cancel(JobId job) { events_.push_back(JobCancelled{job}); }

  // Advances the time, passes the collected events to the engine and executes its actions.
  void step(Duration pause) {
    now_ = now_ + pause;
    do {
      const std::span<const Action> actions = engine_->step(now_, events_);
      events_.clear();
      for (const Action& action : actions) {
        if (action.kind == Action::Kind::kStart) {
          events_.push_back(LeaseStarted{action.job, action.epoch});
          started_.emplace_back(action.job, action.epoch);
        } else if (action.kind == Action::Kind::kStop) {
          events_.push_back(LeaseEnded{action.job, action.epoch, LeaseOutcome::kStopped});
        }
      }
    } while (!events_.empty());
  }

  // Returns the lease that has run for the longest time.
  std::pair<JobId, Epoch> oldest_lease() {
    while (!holds(started_.front().first, started_.front().second)) started_.pop_front();
    return started_.front();
  }
  bool holds(JobId job, Epoch epoch) const {
    const Job& row = engine_->state().jobs[job];
    return row.lease != kNoRow && row.epoch == epoch;
  }
  const Job& job(JobId id) const { return engine_->state().jobs[id]; }
  JobId last_job() const { return JobId(engine_->state().jobs.size() - 1); }
  std::size_t waiting() const { return engine_->state().waiting; }
  const Engine::Counters& counters() const { return engine_->counters(); }

 private:
  Topology topology_;
  ProfileTable profiles_;
  Cluster cluster_;
  std::unique_ptr<Engine> engine_;
  Instant now_ = Instant::micros(1'000'000);  // Not zero, which is a tick.
  std::vector<Event> events_;
  std::deque<std::pair<JobId, Epoch>> started_;
};

void report(benchmark::State& state, const Bed& bed, const Engine::Counters& before) {
  const auto events = static_cast<double>(bed.counters().events - before.events);
  const auto plans = static_cast<double>(bed.counters().plans - before.plans);
  using benchmark::Counter;
  state.counters["per_event"] = Counter(events, Counter::kIsRate | Counter::kInvert);
  state.counters["plans"] = Counter(plans, Counter::kAvgIterations);
  state.counters["waiting"] = static_cast<double>(bed.waiting());
}

// The waiting jobs never change. They are gangs that need two nodes or more, and all nodes except
// one are used by jobs that rank before them under every preemptive policy. On the last node, a
// small job ends and a new one replaces it, repeatedly. Under fifo, where no job overtakes the
// first gang, the small job is cancelled instead. Time-sharing policies (las, ftf, drf) preempt
// only at ticks, and the run contains no tick.
void BM_BlockedQueue(benchmark::State& state, const PolicyEntry* policy) {
  const auto length = static_cast<std::size_t>(state.range(0));
  Bed bed(*policy, /*quantum=*/Duration::seconds(1'000'000'000));
  for (int node = 0; node < kGpus / 8 - 1; ++node) bed.submit(job_of(8, 10'000'000));
  bed.step(Duration::seconds(1));
  Random random(1);
  for (std::size_t i = 0; i < length; ++i) {
    const std::int32_t gpus = 16 << random.below(3);
    bed.submit(job_of(gpus, static_cast<std::int64_t>(20'000'000 + random.below(20'000'000))));
  }
  bed.submit(job_of(1, 60));
  bed.step(Duration::seconds(1));
  const Engine::Counters before = bed.counters();
  for (auto _ : state) {
    const JobId small = bed.last_job();
    if (bed.job(small).state == JobState::kPlaced) {
      bed.end(small, bed.job(small).epoch);
    } else {
      bed.cancel(small);
    }
    bed.submit(job_of(1, 60));
    bed.step(Duration::micros(1));  // So short that no job changes its queue (mlfq-*).
  }
  const std::size_t small = bed.job(bed.last_job()).state == JobState::kWaiting ? 1 : 0;
  MUSTER_CHECK(bed.waiting() == length + small);  // No other job has started.
  report(state, bed, before);
}

// The cluster is full of jobs of all sizes. Every ten seconds, one ends and one of the same size
// arrives, and the policy chooses from the whole queue which jobs to start and to stop.
void BM_BusyQueue(benchmark::State& state, const PolicyEntry* policy) {
  Bed bed(*policy, /*quantum=*/Duration::seconds(300));
  Random random(1);
  const auto draw = [&](std::int32_t most_gpus) {
    const double lot = random.uniform();
    const std::int32_t gpus = lot < 0.60   ? 1
                              : lot < 0.72 ? 2
                              : lot < 0.84 ? 4
                              : lot < 0.95 ? 8
                                           : 16;
    return job_of(std::min(gpus, most_gpus), static_cast<std::int64_t>(60 + random.below(20'000)));
  };
  for (std::int32_t left = kGpus; left > 0;) {
    const JobSpec spec = draw(left);
    left -= spec.gpus;
    bed.submit(spec);
  }
  bed.step(Duration::seconds(9));
  for (std::int64_t i = 0; i < state.range(0); ++i) bed.submit(draw(kGpus));
  bed.step(Duration::seconds(10));
  const Engine::Counters before = bed.counters();
  for (auto _ : state) {
    const auto [job, epoch] = bed.oldest_lease();
    bed.end(job, epoch);
    JobSpec next = draw(kGpus);
    next.gpus = bed.job(job).spec.gpus;
    bed.submit(next);
    bed.step(Duration::seconds(10));
  }
  report(state, bed, before);
}

void register_for_every_policy(const char* name,
                               void (*function)(benchmark::State&, const PolicyEntry*)) {
  for (const PolicyEntry& policy : policies()) {
    const std::string full = std::string(name) + "/" + std::string(policy.name);
    benchmark::RegisterBenchmark(full.c_str(), function, &policy)
        ->Arg(0)
        ->Arg(100)
        ->Arg(1'000)
        ->Arg(10'000)
        ->Arg(100'000);
  }
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  muster::register_for_every_policy("BM_BlockedQueue", &muster::BM_BlockedQueue);
  muster::register_for_every_policy("BM_BusyQueue", &muster::BM_BusyQueue);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
