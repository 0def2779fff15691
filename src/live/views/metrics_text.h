#pragma once

// Metrics of a live manager in Prometheus text format. api/server/server_metrics.h has the metrics
// of the API server.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/roster/roster.h"

namespace muster {

// Starts that were compared with the first forecast of the job, since the manager started.
struct ForecastScore {
  std::uint64_t checked = 0;
  std::array<std::uint64_t, 3> inside = {};  // Within the bands of 50, 80 and 95%.
  std::uint64_t before = 0;                  // Before the band of 80%,
  std::uint64_t after = 0;                   // or after it.
};

// Counters that the roster does not keep.
struct ManagerCounts {
  std::uint64_t submitted = 0;              // Jobs since the start.
  std::span<const std::uint64_t, 4> ended;  // Jobs since the start, by LiveState from kDone.
  bool journal_blocked = false;
  std::string_view mode;  // See live/access/manager_mode.h.
  ForecastScore forecasts = {};
};

std::string metrics_text(const Roster& roster, const ManagerCounts& counts);

}  // namespace muster
