#pragma once

// The work that a sweep gives to nodes that share its directory: the grid, the cells to simulate,
// and digests of the input files. Each plan has its own directory under OUT/slurm. It is written
// once and never changed. A task simulates a slice of the plan and records failed cells there.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "cli/common/command.h"
#include "cli/sim/sweep_cells.h"
#include "cli/sim/sweep_work.h"

namespace muster {

struct SweepPlan {
  std::string file;  // Path of the grid file, for messages.
  std::string cwd;   // Absolute path. The grid's paths are relative to it.
  std::string out;   // Absolute path of the sweep's directory.
  Grid grid;
  std::map<std::string, std::string> inputs;  // Digests of the input files, by path.
  std::vector<SweepCell> cells;               // Without results.
};

std::string plan_text(const SweepPlan& plan);
Result<SweepPlan> read_plan(const std::string& path);  // Rejects plans of other versions.

// "3/12": every twelfth cell of a plan, starting with the third.
struct Slice {
  std::size_t number = 1, of = 1;
};
Result<Slice> parse_slice(std::string_view text);

// The files in a plan's directory.
inline constexpr const char* kPlanName = "plan.json";
std::string task_log(std::string_view slice);  // "task-3.log"; Slurm replaces %a by a number.
// Returns error messages by cell key, for cells that no node can simulate.
std::map<std::string, std::string> failures_in(const std::string& plan_dir);
// Returns the last line of the first task log that is not empty; an empty text if all logs are
// empty; nullopt if there are no logs.
std::optional<std::string> words_in(const std::string& plan_dir);

// Runs a task: simulates the slice's cells that have no result yet. The exit status is for Slurm
// and for users. The sweep itself only uses the files.
int run_slice(const std::string& plan_path, Slice slice, int threads, Streams streams);

}  // namespace muster
