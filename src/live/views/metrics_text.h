#pragma once

// Metrics of a live manager in Prometheus text format. api/server/server_metrics.h has the metrics
// of the API server.

#include <cstdint>
#include <span>
#include <string>

#include "engine/roster/roster.h"

namespace muster {

// Counters that the roster does not keep.
struct ManagerCounts {
  std::uint64_t submitted = 0;              // Jobs since the start.
  std::span<const std::uint64_t, 4> ended;  // Jobs since the start, by LiveState from kDone.
  bool journal_blocked = false;
};

std::string metrics_text(const Roster& roster, const ManagerCounts& counts);

}  // namespace muster
