#pragma once

// What a sweep hands to machines that share its directory: the grid, which of its cells are to be
// done, and what its files must be. Each plan has a directory of its own under OUT/slurm, is
// written once and never changed; a task does a slice of it, and says there what it could not do.

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
  std::string file;  // The grid's, for messages.
  std::string cwd;   // What the grid's paths are relative to. This and `out` begin with a slash.
  std::string out;
  Grid grid;
  std::map<std::string, std::string> inputs;  // Digests of the files it names.
  std::vector<SweepCell> cells;               // Without results.
};

std::string plan_text(const SweepPlan& plan);
Result<SweepPlan> read_plan(const std::string& path);  // Refuses one of another version.

// "3/12": every twelfth cell of a plan, from the third.
struct Slice {
  std::size_t number = 1, of = 1;
};
Result<Slice> parse_slice(std::string_view text);

// The files of a plan's directory.
inline constexpr const char* kPlanName = "plan.json";
std::string task_log(std::string_view slice);  // "task-3.log"; Slurm replaces %a by a number.
// Why cells could not be done, wherever they might be tried; by their keys.
std::map<std::string, std::string> failures_in(const std::string& plan_dir);
// The last line that the first of the tasks with anything to say said; empty if none did. Nothing
// if not even the files for it are there.
std::optional<std::string> words_in(const std::string& plan_dir);

// A task: does the slice's cells that are not done yet. Its exit status is for Slurm and for
// people; the sweep goes by the files.
int run_slice(const std::string& plan_path, Slice slice, int threads, Streams streams);

}  // namespace muster
