#pragma once

// API calls about past events, of the manager or of files that `muster view` opened. For calls.h.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/port/call_info.h"

namespace muster {

// `from` and `to` are seconds since 1970, or since the start of the run (default: the full range).
struct ShowTimeline {  // Jobs per GPU over time.
  static constexpr CallInfo kInfo{.name = "showTimeline", .from_files = true};
  std::optional<std::size_t> run;  // Key of an opened run. A manager has no runs.
  std::optional<double> from, to;
};
struct ShowUsage {  // GPUs that each tenant used, borrowed and lent over time.
  static constexpr CallInfo kInfo{.name = "showUsage", .from_files = true};
  std::optional<std::size_t> run;
  std::optional<double> from, to;
  std::size_t points = 120;  // Number of time steps.
};
struct ListRuns {  // Opened runs and pages.
  static constexpr CallInfo kInfo{.name = "listRuns", .from_files = true};
};
struct CompareRuns {  // Compares opened runs side by side.
  static constexpr CallInfo kInfo{.name = "compareRuns", .from_files = true};
  std::vector<std::size_t> runs;
  std::size_t baseline = 0;  // Key of one of the runs.
};
struct ShowPage {  // An opened report page.
  static constexpr CallInfo kInfo{.name = "showPage", .from_files = true};
  std::size_t key = 0;
};
struct ShowWhatIf {  // Simulates the manager's past with another scheduler.
  static constexpr CallInfo kInfo{.name = "whatIf"};
  std::string policy, mechanism, placement;  // Empty: the manager's current one.
  std::optional<double> since;               // Seconds since 1970.
};

}  // namespace muster
