#pragma once

// Calls about the past, of the manager itself or of files that `muster view` opened. For calls.h.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/port/call_info.h"

namespace muster {

// The past. Times are seconds since 1970, or since the run's beginning; the whole if none is given.
struct ShowTimeline {  // Jobs by GPU over time.
  static constexpr CallInfo kInfo{.name = "showTimeline", .from_files = true};
  std::optional<std::size_t> run;  // Key of an opened run; a manager has only its own past.
  std::optional<double> from, to;
};
struct ShowUsage {  // GPUs that tenants held, borrowed and lent.
  static constexpr CallInfo kInfo{.name = "showUsage", .from_files = true};
  std::optional<std::size_t> run;
  std::optional<double> from, to;
  std::size_t points = 120;
};
struct ListRuns {  // Opened runs and pages.
  static constexpr CallInfo kInfo{.name = "listRuns", .from_files = true};
};
struct CompareRuns {  // Side by side.
  static constexpr CallInfo kInfo{.name = "compareRuns", .from_files = true};
  std::vector<std::size_t> runs;
  std::size_t baseline = 0;  // Key of one of the runs.
};
struct ShowPage {
  static constexpr CallInfo kInfo{.name = "showPage", .from_files = true};
  std::size_t key = 0;
};
struct ShowWhatIf {  // The manager's own past under another scheduler; empty: as it has it.
  static constexpr CallInfo kInfo{.name = "whatIf"};
  std::string policy, mechanism, placement;
  std::optional<double> since;
};

}  // namespace muster
