#include "sim/run/event_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/types/random.h"

namespace muster {
namespace {

using Kind = EventQueue::Kind;

TEST(EventQueue, EmptyHasNothingAhead) {
  EventQueue timetable;
  EXPECT_EQ(timetable.first().at, Instant::never());
  timetable.clear(JobId(3));
  EXPECT_EQ(timetable.first().at, Instant::never());
}

TEST(EventQueue, EndsBeforeStopsBeforeStartsThenTheOlderJob) {
  EventQueue timetable;
  const Instant at = Instant::micros(5);
  timetable.set(JobId(0), {at, JobId(0), Kind::kStarted, 7});
  timetable.set(JobId(1), {at, JobId(1), Kind::kStopped, 8});
  timetable.set(JobId(3), {at, JobId(3), Kind::kFinish, 0});
  timetable.set(JobId(2), {at, JobId(2), Kind::kFinish, 0});
  for (const std::uint32_t expected : {2U, 3U, 1U, 0U}) {
    EXPECT_EQ(timetable.first().job, JobId(expected));
    timetable.clear(JobId(expected));
  }
  EXPECT_EQ(timetable.first().at, Instant::never());
}

// Naive reference implementation: a map by job with a linear search.
TEST(EventQueue, AgreesWithSearchingEverything) {
  Random random(7);
  EventQueue timetable;
  std::map<std::uint32_t, EventQueue::Entry> reference;
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random.below(90));
    if (random.below(3) == 0) {
      timetable.clear(JobId(id));
      reference.erase(id);
    } else {
      const EventQueue::Entry entry = {Instant::micros(static_cast<std::int64_t>(random.below(40))),
                                       JobId(id), static_cast<Kind>(random.below(4)),
                                       static_cast<std::uint32_t>(step)};
      timetable.set(JobId(id), entry);
      reference[id] = entry;
    }
    const EventQueue::Entry* first = nullptr;
    const auto order = [](const EventQueue::Entry& e) { return std::tuple(e.at, e.kind, e.job); };
    for (const auto& [job, entry] : reference) {
      if (first == nullptr || order(entry) < order(*first)) first = &entry;
    }
    if (first == nullptr) {
      EXPECT_EQ(timetable.first().at, Instant::never());
      continue;
    }
    ASSERT_EQ(timetable.first().at, first->at) << "step " << step;
    ASSERT_EQ(timetable.first().job, first->job) << "step " << step;
    ASSERT_EQ(timetable.first().tag, first->tag) << "step " << step;
  }
}

}  // namespace
}  // namespace muster
