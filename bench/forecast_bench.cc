// Measures the cost of explanations and forecasts in the live manager, with 640 used GPUs and a
// queue. The goal for an answer (why a job waits and when it will start) is 0.2 seconds.

#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/scheduler/scheduler.h"
#include "live/query/explanation.h"

namespace muster {
namespace {

constexpr std::size_t kUsers = 40;
constexpr std::size_t kPast = 3'000;  // Earlier jobs.

JobSpec draw(Random& random) {
  JobSpec spec;
  spec.user = UserId(random.below(kUsers));
  spec.name = NameId(random.below(3));
  const double lot = random.uniform();
  spec.gpus = lot < 0.60 ? 1 : lot < 0.72 ? 2 : lot < 0.84 ? 4 : lot < 0.95 ? 8 : 16;
  return spec;
}

Duration draw_work(const JobSpec& spec, Random& random) {
  const double typical = 300.0 * static_cast<double>(1 + spec.user.index());
  return Duration::micros(static_cast<std::int64_t>(1e6 * typical * portable_exp(random.normal())));
}

// The engine of a manager, with all GPUs in use and `waiting` jobs in the queue.
class Bed {
 public:
  Bed(const char* policy, std::size_t waiting) {
    rules_.cluster = &cluster_;
    rules_.planner.parts.policy = policy;
    rules_.engine.estimates = EstimateSource::Kind::kHistory;
    MadePlanner made = make_planner(cluster_, rules_.planner);
    rules_.engine.pooling = made.pooling;
    engine_ = std::make_unique<Engine>(cluster_, std::move(made.planner), rules_.engine);
    Random random(1);
    for (std::size_t i = 0; i < kPast; ++i) {
      const JobSpec spec = draw(random);
      guesses_.learn(spec, draw_work(spec, random));
    }
    while (engine_->state().waiting < waiting) come(draw(random));
  }

  EngineSnapshot snapshot() const {
    const std::size_t rows = engine_->state().jobs.size();
    return {nullptr,
            now_,
            *engine_,
            rules_,
            guesses_,
            std::vector<LiveId>(rows, 1),
            std::vector<std::string>(kUsers, "somebody"),
            {},
            {}};
  }
  const Engine& engine() const { return *engine_; }
  // Returns the waiting job at this fraction of the queue; 1.0 is the last job.
  JobId waiting_at(double part) const {
    std::vector<JobId> line;
    for (std::size_t i = 0; i < engine_->state().jobs.size(); ++i) {
      if (engine_->state().jobs[JobId(i)].state == JobState::kWaiting) line.emplace_back(i);
    }
    return line[static_cast<std::size_t>(part * static_cast<double>(line.size() - 1))];
  }

 private:
  void come(const JobSpec& spec) {
    now_ = now_ + Duration::seconds(20);
    guesses_.record_arrival(now_, spec);
    std::vector<Event> events = {JobSubmitted{spec}};
    while (!events.empty()) {
      const std::span<const Action> actions = engine_->step(now_, events);
      events.clear();
      for (const Action& action : actions) {
        if (action.kind == Action::Kind::kStart) {
          events.emplace_back(LeaseStarted{action.job, action.epoch});
        } else if (action.kind == Action::Kind::kStop) {
          events.emplace_back(LeaseEnded{action.job, action.epoch, LeaseOutcome::kStopped});
        }
      }
    }
  }

  Topology topology_ = parse_cluster_shorthand("80x8").value();
  ProfileTable profiles_;
  Cluster cluster_{topology_, profiles_};
  SchedulingRules rules_;
  std::unique_ptr<Engine> engine_;
  RuntimeSampler guesses_;
  Instant now_ = Instant::micros(1'000'000);
};

Audience reader() {
  Caller caller;
  caller.user = "somebody";
  return {caller, LiveClock(Instance(), Instant())};
}

std::size_t length_of(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0));
}

void BM_CopyEngine(benchmark::State& state, const char* policy) {
  const Bed bed(policy, length_of(state));
  for (auto _ : state) {
    const Engine copy = bed.engine();
    benchmark::DoNotOptimize(copy.state().waiting);
  }
}

// Uses the engine's estimates of the remaining run times.
void BM_Why(benchmark::State& state, const char* policy, double part) {
  const Bed bed(policy, length_of(state));
  const EngineSnapshot snapshot = bed.snapshot();
  const JobId job = bed.waiting_at(part);
  for (auto _ : state) {
    const Why why = explain(snapshot.engine, snapshot.now, job, snapshot.rules);
    benchmark::DoNotOptimize(why.ahead);
  }
}

// One lookahead simulation of a start forecast. The manager runs at least two.
void BM_OneLookahead(benchmark::State& state, const char* policy, double part) {
  const Bed bed(policy, length_of(state));
  const EngineSnapshot snapshot = bed.snapshot();
  const JobId job = bed.waiting_at(part);
  ForecastOptions options;
  options.most_drives = 1;
  const std::array<JobId, 1> jobs = {job};
  for (auto _ : state) {
    ++options.seed;
    const auto starts =
        sample_starts(snapshot.engine, snapshot.now, jobs, snapshot.guesses, options);
    benchmark::DoNotOptimize(starts.size());
  }
}

void BM_Eta(benchmark::State& state, const char* policy, double part) {
  const Bed bed(policy, length_of(state));
  const EngineSnapshot snapshot = bed.snapshot();
  const JobId job = bed.waiting_at(part);
  for (auto _ : state) {
    const Band band = forecast_of(snapshot, job, reader());
    benchmark::DoNotOptimize(band.likely.us());
  }
}

// The complete answer for a user.
void BM_Answer(benchmark::State& state, const char* policy, double part) {
  const Bed bed(policy, length_of(state));
  const EngineSnapshot snapshot = bed.snapshot();
  const JobId job = bed.waiting_at(part);
  for (auto _ : state) {
    Band band;
    const nlohmann::json answer = why_json(snapshot, job, reader(), band);
    benchmark::DoNotOptimize(answer.size());
  }
}

void register_all() {
  const auto sized = [](benchmark::internal::Benchmark* bench) {
    bench->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond)->UseRealTime();
  };
  for (const char* policy : {"fifo", "fit-first", "backfill", "srtf", "las"}) {
    const std::string of = std::string("/") + policy;
    sized(benchmark::RegisterBenchmark(("BM_CopyEngine" + of).c_str(), BM_CopyEngine, policy));
    for (const auto& [place, part] : {std::pair("/middle", 0.5), std::pair("/last", 1.0)}) {
      const std::string at = of + place;
      sized(benchmark::RegisterBenchmark(("BM_Why" + at).c_str(), BM_Why, policy, part));
      sized(benchmark::RegisterBenchmark(("BM_OneDrive" + at).c_str(), BM_OneLookahead, policy,
                                         part));
      sized(benchmark::RegisterBenchmark(("BM_Eta" + at).c_str(), BM_Eta, policy, part));
      sized(benchmark::RegisterBenchmark(("BM_Answer" + at).c_str(), BM_Answer, policy, part));
    }
  }
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  muster::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
