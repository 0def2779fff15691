#include "engine/mechanism/node_solver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/types/random.h"
#include "engine/mechanism/testing.h"

namespace muster {
namespace {

// Naive reference implementation: tries every combination of choices.
double best_by_brute_force(const NodeSolver& solver, std::int64_t cpu, std::int64_t mem,
                           std::span<const JobKind> jobs) {
  if (jobs.empty()) return 0;
  double best = -1;
  for (const Choice& choice : solver.choices(jobs[0])) {
    const std::int64_t gpus = solver.gpus(jobs[0]);
    const std::int64_t cpu_left = cpu - choice.cpu_milli * gpus;
    const std::int64_t mem_left = mem - choice.mem_mib * gpus;
    if (cpu_left < 0 || mem_left < 0) continue;
    const double rest = best_by_brute_force(solver, cpu_left, mem_left, jobs.subspan(1));
    if (rest >= 0) best = std::max(best, choice.speed + rest);
  }
  return best;
}

TEST(NodeSolver, AgreesWithBruteForce) {
  const MechanismWorld world("1x8");
  NodeSolver solver;
  solver.use(world.cluster);
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed);
    Random random(seed);
    std::vector<JobKind> jobs;
    std::int32_t gpus = 8;
    while (gpus > 0 && jobs.size() < 5) {
      const std::int32_t size = std::min(gpus, 1 << random.below(3));
      jobs.push_back(solver.kind(world.random_job(random, size), NodeId(0)));
      gpus -= size;
    }
    std::sort(jobs.begin(), jobs.end());
    const std::int64_t cpu = 1000 * static_cast<std::int64_t>(16 + random.below(24));
    const std::int64_t mem = 1024 * static_cast<std::int64_t>(300 + random.below(500));
    const NodeSolver::Answer& answer = solver.solve(cpu, mem, jobs);
    const double expected = best_by_brute_force(solver, cpu, mem, jobs);
    ASSERT_EQ(answer.fits, expected >= 0);
    if (!answer.fits) continue;
    EXPECT_NEAR(answer.speed, expected, 1e-9);
    std::int64_t used_cpu = 0;
    std::int64_t used_mem = 0;
    double speed = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const Choice& choice = solver.choices(jobs[i])[answer.picks[i]];
      used_cpu += choice.cpu_milli * solver.gpus(jobs[i]);
      used_mem += choice.mem_mib * solver.gpus(jobs[i]);
      speed += choice.speed;
    }
    EXPECT_LE(used_cpu, cpu);
    EXPECT_LE(used_mem, mem);
    EXPECT_NEAR(speed, answer.speed, 1e-9);
    ++solved;
  }
  EXPECT_GT(solved, 100);  // Most cases have a solution to compare.
}

TEST(NodeSolver, RemembersWhatItWorkedOut) {
  const MechanismWorld world("1x8");
  NodeSolver solver;
  solver.use(world.cluster);
  const std::vector<JobKind> jobs = {solver.kind(world.job("alexnet", 1), NodeId(0))};
  solver.solve(24'000, 512'000, jobs);
  solver.solve(24'000, 512'000, jobs);
  EXPECT_EQ(solver.solved(), 1u);
}

TEST(NodeSolver, FillsACrowdedServerWithoutOverdrawingIt) {
  const MechanismWorld world("1x64");
  NodeSolver solver;
  solver.use(world.cluster);
  Random random(7);
  std::vector<JobKind> jobs;
  for (int i = 0; i < 64; ++i) jobs.push_back(solver.kind(world.random_job(random, 1), NodeId(0)));
  std::sort(jobs.begin(), jobs.end());
  const Resources& capacity = world.topology.total();
  const NodeSolver::Answer& answer = solver.solve(capacity.cpu_milli, capacity.mem_mib, jobs);
  ASSERT_TRUE(answer.fits);
  EXPECT_GT(answer.speed, 64.0);  // Faster than proportional, where each has speed 1.
  std::int64_t cpu = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    cpu += solver.choices(jobs[i])[answer.picks[i]].cpu_milli;
  }
  EXPECT_LE(cpu, capacity.cpu_milli);
}

TEST(Choices, AreNeverSlowerThanTheShareAndNeverDominated) {
  const MechanismWorld world("4x8,cpus=30,mem=450");
  for (const std::string_view model : world.profiles.names()) {
    for (const std::int32_t gpus : {1, 2, 3, 4, 8, 16}) {
      const JobSpec spec = world.job(model, gpus);
      const double fair = world.cluster.fair_speed(spec, NodeId(0));
      const std::vector<Choice> choices =
          choices_for(world.cluster, spec, NodeId(0), ChoiceGrid::kFine);
      ASSERT_FALSE(choices.empty());
      for (const Choice& a : choices) {
        EXPECT_GE(a.speed, fair);
        for (const Choice& b : choices) {
          if (&a == &b) continue;
          EXPECT_FALSE(b.cpu_milli <= a.cpu_milli && b.mem_mib <= a.mem_mib && b.speed >= a.speed)
              << model << " on " << gpus;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster
