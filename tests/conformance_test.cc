// Rules for all combinations of policy, mechanism and placement. The tests iterate over the tables,
// so they cover new entries. Workloads are small and mixed: gangs of 1 to 16 GPUs, ten models, and
// enough jobs that some must wait.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/types/random.h"
#include "campaign.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"
#include "sim/run/simulator.h"
#include "workload/input/profiles_file.h"

namespace muster {
namespace {

constexpr Duration kRound = Duration::seconds(300);
constexpr Overheads kInstantSave = {Duration(), Duration::seconds(20), Duration::seconds(10)};

// The built-in models, twice as fast on the newer GPUs.
ProfileTable zoo() {
  const ProfileTable builtin = builtin_profiles();
  ProfileTable table;
  for (std::size_t i = 1; i < builtin.size(); ++i) {
    Profile profile = builtin[ProfileId(i)];
    profile.state_gpu_factor("a100", 2.0);
    EXPECT_TRUE(table.add(std::move(profile)).ok());
  }
  return table;
}

Topology uniform_cluster() { return parse_cluster_shorthand("4x8").value(); }

// Two GPU generations in two racks, with more CPUs per newer GPU, and a small old node.
Topology mixed_cluster() {
  Topology topology;
  const auto add = [&](const char* name, const char* rack, const char* gpu, Resources capacity) {
    EXPECT_FALSE(topology.add_node(name, rack, gpu, capacity));
  };
  add("volta0", "r0", "v100", {8, 24'000, 512'000, 500'000});
  add("volta1", "r0", "v100", {8, 24'000, 512'000, 500'000});
  add("old", "r0", "v100", {4, 13'000, 250'001, 250'000});
  add("ampere0", "r1", "a100", {8, 64'000, 1'024'000, 900'000});
  add("ampere1", "r1", "a100", {8, 64'000, 1'024'000, 900'000});
  return topology;
}

Trace workload(std::uint64_t seed, std::size_t jobs, const ProfileTable& profiles,
               const Topology& topology) {
  constexpr std::int32_t kSizes[] = {1, 1, 1, 2, 2, 3, 4, 4, 8, 16};
  Random random(seed);
  Trace trace;
  std::int64_t submit = 0;
  for (std::size_t i = 0; i < jobs; ++i) {
    TraceJob job;
    job.id = std::to_string(i);
    if (random.below(3) != 0) submit += static_cast<std::int64_t>(random.below(150));
    job.submit = Instant::at(Duration::seconds(submit));
    job.duration = Duration::seconds(static_cast<std::int64_t>(10 + random.below(2000)));
    if (random.below(3) != 0) job.user_estimate = job.duration * 2;
    job.gpus = kSizes[random.below(std::size(kSizes))];
    const std::uint64_t model = random.below(profiles.size());  // Includes the unknown profile.
    if (model > 0) job.model = trace.models.intern(profiles[ProfileId(model)].name());
    job.user = trace.users.intern("u" + std::to_string(random.below(3)));
    job.name = trace.names.intern("n" + std::to_string(random.below(4)));
    const std::uint64_t type = random.below(2 * topology.gpu_type_count());
    if (topology.gpu_type_count() > 1 && type < topology.gpu_type_count()) {
      job.gpu_type = trace.gpu_types.intern(topology.gpu_type_name(GpuTypeId(type)));
    }
    trace.jobs.push_back(std::move(job));
  }
  return trace;
}

// Returns whether the mechanism guarantees each running job at least its proportional speed.
bool keeps_the_floor(const std::string& mechanism) {
  return mechanism == "proportional" || mechanism == "tune" || mechanism == "blend" ||
         mechanism == "opt";
}

// Returns whether the mechanism solves an optimization problem for each plan.
bool is_slow(const std::string& mechanism) { return mechanism == "opt" || mechanism == "blend"; }

bool is_pooled(const SchedulerParts& parts) {
  const auto mechanism = find_entry(mechanisms(), "mechanism", parts.mechanism).value()->make();
  const auto placer = find_entry(placements(), "placement", parts.placement).value()->make();
  return mechanism->pooling() == Pooling::kWholeCluster ||
         placer->pooling() == Pooling::kWholeCluster;
}

struct Ground {
  const char* name;
  Topology topology;
  ProfileTable profiles;
  Trace trace;
};

Ground uniform_ground(std::size_t jobs) {
  Ground ground{"uniform", uniform_cluster(), zoo(), {}};
  ground.trace = workload(11, jobs, ground.profiles, ground.topology);
  return ground;
}

Ground mixed_ground(std::size_t jobs) {
  Ground ground{"mixed", mixed_cluster(), zoo(), {}};
  ground.trace = workload(12, jobs, ground.profiles, ground.topology);
  return ground;
}

SimResult run(const Ground& ground, const SimOptions& options) {
  return simulate(ground.trace, ground.topology, ground.profiles, options);
}

void expect_all_finish(const Ground& ground, const SimResult& result) {
  ASSERT_FALSE(result.partial);
  ASSERT_EQ(result.jobs.size(), ground.trace.jobs.size());
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobOutcome& job = result.jobs[i];
    ASSERT_EQ(job.fate, JobResult::kFinished) << "job " << i << ": " << job.why_rejected;
    ASSERT_LE(job.submit, job.start) << "job " << i;
    ASSERT_LE(job.start, job.end) << "job " << i;
    ASSERT_GE(job.wait(), Duration()) << "job " << i;
  }
}

// No GPU runs two jobs at the same time.
void expect_no_overlap(const SimResult& result) {
  std::map<std::pair<NodeId, int>, std::vector<std::pair<Instant, Instant>>> tracks;
  for (const LeaseSpan& span : result.spans) {
    ASSERT_LT(span.begin, span.end);
    for (std::uint64_t left = span.slots; left != 0; left &= left - 1) {
      tracks[{span.node, std::countr_zero(left)}].emplace_back(span.begin, span.end);
    }
  }
  for (auto& [slot, spans] : tracks) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) {
      ASSERT_LE(spans[i - 1].second, spans[i].first)
          << "GPU " << slot.second << " of node " << slot.first.index() << " at "
          << spans[i].first.in_seconds() << " s";
    }
  }
}

// The used resources of a node (or of all nodes, if pooled) never exceed its capacity.
void expect_within_capacity(const Ground& ground, const SimResult& result, bool pooled) {
  struct Change {
    Instant at;
    std::int64_t cpu_milli, mem_mib;
  };
  std::map<NodeId, std::vector<Change>> changes;
  for (const LeaseSpan& span : result.spans) {
    std::vector<Change>& here = changes[pooled ? NodeId(0) : span.node];
    here.push_back({span.begin, span.cpu_milli, span.mem_mib});
    here.push_back({span.end, -span.cpu_milli, -span.mem_mib});
  }
  for (auto& [node, list] : changes) {
    const Resources& there = pooled ? ground.topology.total() : ground.topology.node(node).capacity;
    std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
      return a.at != b.at ? a.at < b.at : a.cpu_milli < b.cpu_milli;
    });
    Change held{};
    for (const Change& change : list) {
      held.cpu_milli += change.cpu_milli;
      held.mem_mib += change.mem_mib;
      ASSERT_LE(held.cpu_milli, there.cpu_milli)
          << "CPUs of node " << node.index() << " at " << change.at.in_seconds() << " s";
      if (change.cpu_milli < 0) continue;  // Releases at this instant come first, also for memory.
      ASSERT_LE(held.mem_mib, there.mem_mib)
          << "memory of node " << node.index() << " at " << change.at.in_seconds() << " s";
    }
  }
}

void expect_gpu_time_adds_up(const Ground& ground, const SimResult& result) {
  std::int64_t of_spans = 0;
  std::vector<std::int64_t> of_job(result.jobs.size());
  for (const LeaseSpan& span : result.spans) {
    const std::int64_t time = std::popcount(span.slots) * (span.end - span.begin).us();
    of_spans += time;
    of_job[span.job.index()] += time;
  }
  ASSERT_EQ(result.gpu_us, of_spans);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    ASSERT_EQ(result.jobs[i].run.us() * ground.trace.jobs[i].gpus, of_job[i]) << "job " << i;
  }
}

// Gangs are complete, on the requested GPU type and, if `floor`, at least at proportional speed.
void expect_good_gangs(const Ground& ground, const SimResult& result, bool floor) {
  std::map<std::pair<JobId, Instant>, std::vector<const LeaseSpan*>> gangs;
  for (const LeaseSpan& span : result.spans) gangs[{span.job, span.begin}].push_back(&span);
  for (const auto& [key, gang] : gangs) {
    const TraceJob& job = ground.trace.jobs[key.first.index()];
    const Profile& profile = ground.profiles[ground.profiles.find(ground.trace.models[job.model])];
    std::int32_t gpus = 0;
    std::optional<double> fair;
    for (const LeaseSpan* span : gang) {
      gpus += std::popcount(span->slots);
      const Node& node = ground.topology.node(span->node);
      const std::string& type = ground.topology.gpu_type_name(node.gpu_type);
      if (job.gpu_type != 0) {
        ASSERT_EQ(type, ground.trace.gpu_types[job.gpu_type]);
      }
      const double here = profile.speed(node.per_gpu()) * profile.gpu_factor(type);
      fair = std::min(fair.value_or(here), here);
      ASSERT_EQ(span->speed, gang.front()->speed);
    }
    ASSERT_EQ(gpus, job.gpus) << "job " << job.id << " at " << key.second.in_seconds() << " s";
    ASSERT_GT(gang.front()->speed, 0);
    if (!floor) continue;
    ASSERT_GE(gang.front()->speed, *fair - 1e-9)
        << "job " << job.id << " (" << profile.name() << " on " << job.gpus << " GPUs) at "
        << key.second.in_seconds() << " s";
  }
}

class Conformance
    : public testing::TestWithParam<std::tuple<std::string, std::string, std::string>> {
 protected:
  SchedulerParts parts() const {
    return {std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam())};
  }
  std::size_t job_count() const { return is_slow(parts().mechanism) ? 16 : 60; }

  void expect_conforming(const Ground& ground, Duration round, const Overheads& overheads) const {
    SCOPED_TRACE(std::string(ground.name) + (round == Duration() ? ", events" : ", rounds"));
    SimOptions options;
    options.parts = parts();
    options.round = round;
    options.overheads = overheads;
    options.history = true;
    options.check_invariants = true;
    const SimResult result = run(ground, options);
    expect_all_finish(ground, result);
    expect_no_overlap(result);
    if (overheads.checkpoint == Duration()) {
      expect_within_capacity(ground, result, is_pooled(options.parts));
    }
    expect_gpu_time_adds_up(ground, result);
    expect_good_gangs(ground, result, keeps_the_floor(options.parts.mechanism));
    // Run again, with plans also in idle rounds and without a history.
    options.history = false;
    options.check_invariants = false;
    options.plan_idle_rounds = round > Duration();
    const SimResult again = run(ground, options);
    ASSERT_EQ(again.digest, result.digest);
    ASSERT_EQ(again.gpu_us, result.gpu_us);
    ASSERT_EQ(again.decisions, result.decisions);
  }
};

TEST_P(Conformance, OnAUniformClusterAtEveryEvent) {
  expect_conforming(uniform_ground(job_count()), Duration(), Overheads());
}

TEST_P(Conformance, OnAUniformClusterInRounds) {
  expect_conforming(uniform_ground(job_count()), kRound, Overheads());
}

TEST_P(Conformance, OnAMixedClusterAtEveryEvent) {
  expect_conforming(mixed_ground(job_count()), Duration(), kInstantSave);
}

TEST_P(Conformance, OnAMixedClusterInRounds) {
  expect_conforming(mixed_ground(job_count()), kRound, kInstantSave);
}

template <class Table>
std::vector<std::string> names(const Table& table) {
  const std::vector<std::string_view> all = names_of(table);
  return {all.begin(), all.end()};
}

INSTANTIATE_TEST_SUITE_P(AllParts, Conformance,
                         testing::Combine(testing::ValuesIn(names(policies())),
                                          testing::ValuesIn(names(mechanisms())),
                                          testing::ValuesIn(names(placements()))),
                         [](const auto& it) {
                           std::string name = std::get<0>(it.param) + "__" + std::get<1>(it.param) +
                                              "__" + std::get<2>(it.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The engine skips rounds in which no plan could help any job. Tested with many workloads.
TEST(ConformanceOfParts, IdleRoundsMakeNoDifference) {
  for (const bool mixed : {false, true}) {
    Ground ground = mixed ? mixed_ground(0) : uniform_ground(0);
    const std::uint64_t seeds = campaign_size(10, 40);
    for (std::uint64_t seed = 100; seed < 100 + seeds; ++seed) {
      ground.trace = workload(seed, 40, ground.profiles, ground.topology);
      for (const PolicyEntry& policy : policies()) {
        for (const char* const mechanism : {"proportional", "greedy", "tune"}) {
          for (const char* const placement : {"consolidate", "yarn"}) {
            SimOptions options;
            options.parts = {std::string(policy.name), mechanism, placement};
            options.round = kRound;
            const std::uint64_t digest = run(ground, options).digest;
            options.plan_idle_rounds = true;
            EXPECT_EQ(run(ground, options).digest, digest)
                << ground.name << ", seed " << seed << ": " << policy.name << " " << mechanism
                << " " << placement;
          }
        }
      }
    }
  }
}

// A stopping job keeps its resources until it has saved its work. Other jobs can grow only then.
TEST(ConformanceOfParts, NoServerIsOvercommittedWhileJobsSave) {
  for (const PolicyEntry& policy : policies()) {
    for (const Entry<Mechanism>& mechanism : mechanisms()) {
      SCOPED_TRACE(std::string(policy.name) + " " + std::string(mechanism.name));
      const Ground ground = uniform_ground(is_slow(std::string(mechanism.name)) ? 16 : 60);
      SimOptions options;
      options.parts = {std::string(policy.name), std::string(mechanism.name), "first-fit"};
      options.history = true;
      const SimResult result = run(ground, options);
      ASSERT_NO_FATAL_FAILURE(expect_within_capacity(ground, result, is_pooled(options.parts)));
    }
  }
}

TEST(ConformanceOfParts, EveryEstimateSourceRunsToTheEndUnderEveryPolicy) {
  const Ground ground = uniform_ground(60);
  for (const PolicyEntry& policy : policies()) {
    for (const char* const source : {"oracle", "noisy:0.5", "user", "history"}) {
      for (const char* const mechanism : {"proportional", "tune"}) {
        SCOPED_TRACE(std::string(policy.name) + " " + source + " " + mechanism);
        SimOptions options;
        options.parts = {std::string(policy.name), mechanism, "consolidate"};
        options.estimates = parse_estimate_source(source).value();
        options.check_invariants = true;
        expect_all_finish(ground, run(ground, options));
      }
    }
  }
}

TEST(ConformanceOfParts, OneJobAloneTakesItsDurationAtItsSpeed) {
  for (const bool mixed : {false, true}) {
    Ground ground = mixed ? mixed_ground(10) : uniform_ground(10);
    const std::vector<TraceJob> jobs = ground.trace.jobs;
    for (const Entry<Mechanism>& mechanism : mechanisms()) {
      for (const Entry<Placer>& placement : placements()) {
        for (const TraceJob& job : jobs) {
          SCOPED_TRACE(std::string(ground.name) + " " + std::string(mechanism.name) + " " +
                       std::string(placement.name) + " job " + job.id);
          ground.trace.jobs = {job};
          SimOptions options;
          options.parts = {"fifo", std::string(mechanism.name), std::string(placement.name)};
          options.overheads = {Duration(), Duration(), Duration()};
          options.history = true;
          const SimResult result = run(ground, options);
          expect_all_finish(ground, result);
          ASSERT_FALSE(result.spans.empty());
          const double expected =
              static_cast<double>(job.duration.us()) / result.spans.front().speed;
          EXPECT_NEAR(static_cast<double>(result.jobs[0].jct().us()), expected, 1.0);
          expect_good_gangs(ground, result, keeps_the_floor(options.parts.mechanism));
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster
