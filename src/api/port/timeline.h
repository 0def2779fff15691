#pragma once

// Who held which GPU when, as the dashboard draws it: columns of numbers, and no more of them than
// a browser draws with ease. A reader of the past fills a LeaseTimeline in (view/ from files, live/
// from the manager's tables), once; each look at a part of it is a call of timeline_json().

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types/time.h"

namespace muster {

// From begin on, before end.
struct TimeWindow {
  Instant begin, end;
};

struct TimelineJob {
  std::string id, name, user;  // Empty: not told, or not to be told.
  std::uint32_t tenant = 0;    // In LeaseTimeline::tenants.
  std::uint32_t cause = 0;     // In causes: what it waited for most.
  std::int32_t gpus = 0;
};

struct TimelineBar {
  std::uint32_t row = 0;  // Of its GPU: those of the servers, one after the other.
  std::uint32_t job = 0;
  std::uint32_t how = 0;  // It ended, in LeaseTimeline::ends.
  Instant begin, end;
};

// So much from `at` on.
struct TimelineLoad {
  Instant at;
  double busy = 0;     // GPUs.
  double waiting = 0;  // Jobs.
};

struct TimelineServer {
  std::string name;
  std::int32_t gpus = 0;
};

struct LeaseTimeline {
  TimeWindow whole;    // What there is.
  bool dates = false;  // Times are since 1970, otherwise since the run's beginning.
  std::int64_t gpus = 0;
  std::vector<TimelineServer> servers;
  std::vector<std::string> tenants, causes, ends;
  std::vector<TimelineJob> jobs;
  std::vector<TimelineBar> bars;   // In any order until sort_bars().
  std::vector<TimelineLoad> load;  // Ascending, one an instant.
  std::string missing;             // What is not in it; empty: nothing.
};

inline constexpr std::size_t kMostTimelineBars = 200'000;
inline constexpr std::size_t kMostLoadPoints = 2'000;

// From changes, in any order, to what holds from each instant on.
std::vector<TimelineLoad> load_of(std::vector<TimelineLoad> changes);

// By row, then by begin: timeline_json() wants them so.
void sort_bars(LeaseTimeline& timeline);

// What touches the window, on one line. Where that is too many bars, the short ones that follow
// each other on a GPU become one, under the name of the longest, and "thinned" says so. Times have
// as many digits as a screen can show of the window.
std::string timeline_json(const LeaseTimeline& timeline, const TimeWindow& window,
                          std::size_t most_bars = kMostTimelineBars);

}  // namespace muster
