#pragma once

// Leases per GPU over time, as JSON for the dashboard's timeline. A reader builds one LeaseTimeline
// (study/ from files, live/ from the manager's tables). timeline_json() then renders any window of
// it, with a bounded number of bars.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/types/time.h"

namespace muster {

// Half-open interval [begin, end).
struct TimeWindow {
  Instant begin, end;
};

struct TimelineJob {
  std::string id, name, user;  // Empty: unknown, or hidden from the caller.
  std::uint32_t tenant = 0;    // Index in LeaseTimeline::tenants.
  std::uint32_t cause = 0;     // Index in `causes`: the main reason for waiting.
  std::int32_t gpus = 0;
};

struct TimelineBar {
  std::uint32_t row = 0;  // GPU index, counted over all nodes in order.
  std::uint32_t job = 0;  // Index in LeaseTimeline::jobs.
  std::uint32_t how = 0;  // How it ended: index in LeaseTimeline::ends.
  Instant begin, end;
};

// Load from `at` until the next entry.
struct TimelineLoad {
  Instant at;
  double busy = 0;     // GPUs in use.
  double waiting = 0;  // Waiting jobs.
};

struct TimelineNode {
  std::string name;
  std::int32_t gpus = 0;
};

struct LeaseTimeline {
  TimeWindow whole;    // Full range of the data.
  bool dates = false;  // True: times since 1970. False: since the start of the run.
  std::int64_t gpus = 0;
  std::vector<TimelineNode> nodes;
  std::vector<std::string> tenants, causes, ends;
  std::vector<TimelineJob> jobs;
  std::vector<TimelineBar> bars;   // In any order until sort_bars().
  std::vector<TimelineLoad> load;  // Ascending, one entry per instant.
  std::string missing;             // Describes missing data; empty if complete.
};

inline constexpr std::size_t kMaxTimelineBars = 200'000;
inline constexpr std::size_t kMaxLoadPoints = 2'000;

// Sums up changes, given in any order, to the load from each instant on. O(n log n).
std::vector<TimelineLoad> load_of(std::vector<TimelineLoad> changes);

// Sorts the bars by row, then by begin, as timeline_json() requires.
void sort_bars(LeaseTimeline& timeline);

// Returns the part of the timeline that overlaps the window, as one line of JSON. If there are more
// than `most_bars` bars, consecutive short bars of a GPU are merged into one, shown as the longest
// of them; "thinned" then describes it. Times are rounded to what a screen can show.
// REQUIRES: sort_bars() was called, and window.begin <= window.end.
std::string timeline_json(const LeaseTimeline& timeline, const TimeWindow& window,
                          std::size_t most_bars = kMaxTimelineBars);

}  // namespace muster
