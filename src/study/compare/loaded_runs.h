#pragma once

// Reads the files that `muster sim --out DIR` wrote, for a report.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "study/analyze/study_input.h"
#include "study/page/page.h"
#include "workload/history/history.h"

namespace muster {

struct RunFiles {
  std::string name;        // Name of the directory, for display.
  nlohmann::json summary;  // Content of summary.json: an object.
  History history;
  std::vector<Step> busy;     // GPUs in use over time.
  std::vector<Step> waiting;  // Waiting jobs over time.

  // Values of the summary. Missing keys give 0, an empty cell or "".
  double number(const char* key) const;
  Cell count(const char* key) const;
  std::string text(const char* key) const;
};

// Some of the loaded runs, in any order.
using RunRefs = std::span<const std::reference_wrapper<const RunFiles>>;
inline std::vector<std::reference_wrapper<const RunFiles>> refs_to(
    const std::vector<RunFiles>& runs) {
  return {runs.begin(), runs.end()};
}

// Returns the integer at `key` of a JSON object; an empty cell if there is none.
Cell count_in(const nlohmann::json& object, const char* key);

// The last part of a path: "runs" for "a/runs/".
std::string last_part(const std::string& dir);

// Returns the run directories among these: directories with a summary.json, or, for directories
// without one, their direct subdirectories that have one (`muster sim` with several runs creates
// these), sorted by name.
Result<std::vector<std::string>> find_runs(const std::vector<std::string>& dirs);

// Errors name the file and the problem in one line. The name of the run is the last part of the
// path.
Result<RunFiles> read_run_files(const std::string& dir);

// Parses timeline.csv. `name` is used as the path in messages.
MaybeError parse_timeline(std::string_view text, const std::string& name, RunFiles& run);

}  // namespace muster
