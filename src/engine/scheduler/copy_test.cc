// A copy of an engine is independent: it continues as the original would, and changes to one do not
// affect the other. Forecasts rely on this.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/scheduler/testing.h"

namespace muster {
namespace {

// One step of a random life; the same for equal engines.
void live(World& world, Random& random, std::int64_t second) {
  std::vector<Event> events = {TimerFired{}};
  for (std::size_t i = random.below(3); i > 0; --i) {
    events.push_back(submit(1 + static_cast<std::int32_t>(random.below(4)),
                            static_cast<std::int64_t>(100 + random.below(5000))));
  }
  const auto& placed = world.engine->state().placed;
  if (!placed.empty() && random.below(3) != 0) {
    const JobId job = placed[random.below(placed.size())];
    const Epoch epoch = world.engine->state().jobs[job].epoch;
    if (random.below(4) == 0) {
      events.push_back(AttemptFailed{job, epoch, Reason::kCudaFailure});
    } else {
      events.push_back(LeaseEnded{job, epoch, LeaseOutcome::kCompleted});
    }
  }
  world.step(second, events);
}

// Everything is cancelled and the nodes are closed.
void ruin(Engine& engine, std::int64_t second) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < engine.state().jobs.size(); ++i) {
    events.push_back(JobCancelled{JobId(i)});
  }
  events.push_back(NodeClosed{NodeId(0)});
  engine.step(Instant::at(Duration::seconds(second)), events);
}

std::vector<PlannerOptions> all_planners() {
  std::vector<PlannerOptions> all = all_parts();
  all.emplace_back().whole = GandivaOptions{};
  all.emplace_back().whole = OptimusOptions{};
  return all;
}

class Copy : public testing::TestWithParam<PlannerOptions> {};

TEST_P(Copy, GoesOnAsTheFirstWouldHave) {
  World plain(GetParam());
  World copied(GetParam());
  Random chance(11);
  Random same_chance(11);
  for (std::int64_t second = 0; second < 60 * 40; second += 60) {
    live(plain, chance, second);
    live(copied, same_chance, second);
    auto copy = std::make_unique<Engine>(*copied.engine);
    if (second % 120 == 0) {  // Continue with the copy or with the original.
      ruin(*copied.engine, second);
      copied.engine = std::move(copy);
    } else {
      ruin(*copy, second);
    }
    ASSERT_EQ(plain.engine->digest(), copied.engine->digest()) << second;
  }
  EXPECT_GT(plain.engine->counters().decisions, 20U);
}

INSTANTIATE_TEST_SUITE_P(All, Copy, testing::ValuesIn(all_planners()), name_of_case);

}  // namespace
}  // namespace muster
