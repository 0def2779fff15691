#pragma once

// A simulated run as its files tell it: what `muster sim --out DIR` left behind, read back for a
// report.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "study/analyze/asked.h"
#include "study/page/page.h"
#include "workload/history/history.h"

namespace muster {

struct RunFiles {
  std::string name;        // For people: the directory's name.
  nlohmann::json summary;  // summary.json: an object.
  History history;
  std::vector<Step> busy;     // GPUs held, over time.
  std::vector<Step> waiting;  // Jobs.

  // Of the summary; 0, nothing or "" where it has no such key.
  double number(const char* key) const;
  Cell count(const char* key) const;
  std::string text(const char* key) const;
};

// Some of those that were read, in any order.
using RunRefs = std::span<const std::reference_wrapper<const RunFiles>>;
inline std::vector<std::reference_wrapper<const RunFiles>> refs_to(
    const std::vector<RunFiles>& runs) {
  return {runs.begin(), runs.end()};
}

// Of a JSON object; nothing where it has no such whole number.
Cell count_in(const nlohmann::json& object, const char* key);

// "runs" of "a/runs/".
std::string last_part(const std::string& dir);

// The directories of runs among these: one that holds summary.json itself, or those right inside
// one that does not (`muster sim` with several runs makes such), in the order of their names.
Result<std::vector<std::string>> find_runs(const std::vector<std::string>& dirs);

// One line that names the file and what is wrong with it, otherwise. The name is the last part of
// the path.
Result<RunFiles> read_run_files(const std::string& dir);

// timeline.csv; `name` stands for the path in messages.
Refusal parse_timeline(std::string_view text, const std::string& name, RunFiles& run);

}  // namespace muster
