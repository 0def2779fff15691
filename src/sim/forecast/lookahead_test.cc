// A lookahead with the actual work of all jobs gives the same result as the simulator.

#include "sim/forecast/lookahead.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "engine/scheduler/scheduler.h"
#include "sim/run/simulator.h"

namespace muster {
namespace {

Trace random_trace(std::uint64_t seed) {
  Random random(seed);
  Trace trace;
  Instant at;
  for (int i = 0; i < 150; ++i) {
    at = at + Duration::seconds(static_cast<std::int64_t>(random.below(300)));
    TraceJob job;
    job.submit = at;
    job.gpus = 1 << random.below(4);
    job.duration = Duration::seconds(static_cast<std::int64_t>(1 + random.below(4'000)));
    trace.jobs.push_back(job);
  }
  return trace;
}

class LookaheadReference : public testing::TestWithParam<const char*> {};

TEST_P(LookaheadReference, StartsWhatTheSimulatorStartsWhenItDoes) {
  const Trace trace = random_trace(5);
  const Topology topology = parse_cluster_shorthand("4x4").value();
  const ProfileTable profiles;
  SimOptions sim;
  sim.parts.policy = GetParam();
  sim.overheads.migration = Duration();
  const SimResult result = simulate(trace, topology, profiles, sim);

  const Cluster cluster(topology, profiles);
  PlannerOptions wanted;
  wanted.parts = sim.parts;
  MadePlanner made = make_planner(cluster, wanted);
  EngineOptions options;
  options.pooling = made.pooling;
  Lookahead drive(Engine(cluster, std::move(made.planner), options), Instant(), {},
                  {sim.overheads.checkpoint, sim.overheads.restart});
  std::vector<FutureArrival> all;
  for (const TraceJob& job : trace.jobs) {
    JobSpec spec;
    spec.gpus = job.gpus;
    spec.estimate = job.duration;
    all.push_back({job.submit, spec, job.duration});
  }
  drive.expect(std::move(all));
  std::vector<Instant> starts(trace.jobs.size(), Instant::never());
  std::size_t seen = 0;
  while (drive.advance(kHorizon)) {
    for (const JobId job : drive.started().subspan(seen)) {
      starts[job.index()] = std::min(starts[job.index()], drive.now());
    }
    seen = drive.started().size();
  }
  for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_EQ(starts[i], result.jobs[i].start) << i;
  EXPECT_EQ(drive.ended().size(), trace.jobs.size());
  EXPECT_EQ(drive.engine().digest(), result.digest);
}

INSTANTIATE_TEST_SUITE_P(Policies, LookaheadReference,
                         testing::Values("fifo", "backfill", "sjf", "srtf", "las", "drf"));

// A lookahead that begins in the middle continues like one that began at the start.
TEST(Lookahead, TakesOverWhatRuns) {
  const Topology topology = parse_cluster_shorthand("1x2").value();
  const ProfileTable profiles;
  const Cluster cluster(topology, profiles);
  MadePlanner made = make_planner(cluster, {});
  Engine engine(cluster, std::move(made.planner), {});
  const auto at = [](std::int64_t second) { return Instant::at(Duration::seconds(second)); };
  JobSpec spec;
  spec.gpus = 2;
  const std::vector<Event> events = {JobSubmitted{spec}, JobSubmitted{spec}};
  engine.step(at(0), events);
  const std::vector<Event> started = {LeaseStarted{JobId(0), 1}};
  engine.step(at(10), started);
  const std::uint64_t before = engine.digest();
  Lookahead drive(engine, at(100), {Duration::seconds(50), Duration::seconds(9)});
  EXPECT_EQ(drive.start_of(JobId(1), at(1'000)), at(150));
  Lookahead short_sighted(engine, at(100), {Duration::seconds(50), Duration::seconds(9)});
  EXPECT_EQ(short_sighted.start_of(JobId(1), at(120)), Instant::never());
  EXPECT_EQ(engine.digest(), before);
}

}  // namespace
}  // namespace muster
