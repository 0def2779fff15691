#pragma once

// Simulates the cells of a sweep on a Slurm cluster. Submits the missing cells as an array of
// tasks, each with a slice of the plan (cli/sim/sweep_plan.h), and reads the results from the
// shared directory. Only these files count; Slurm only reports which tasks are active. The sweep
// therefore tolerates tasks that Slurm loses, runs twice or restarts after a cancel.

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/terminal/progress.h"
#include "cli/common/command.h"
#include "cli/sim/sweep_plan.h"
#include "exec/slurm/command_runner.h"
#include "exec/slurm/slurm.h"

namespace muster {

struct SlurmOrder {
  std::string partition, account, qos, reservation;  // Empty: the site's default.
  Duration time_limit;                               // Per task. Zero: the site's default.
  int cells_per_task = 1;                            // Cells at a time, and CPUs of a task.
  std::int64_t mem_mib = 2048;                       // Per cell at a time.
  std::size_t jobs_at_once = 0;                      // Maximum number of tasks. 0: no limit.
};

// Returns the number of tasks for `cells` cells, if an array has at most `most` tasks.
std::size_t task_count(std::size_t cells, const SlurmOrder& order, std::size_t most);

class SlurmSweep {
 public:
  // `plan` is complete except for its cells.
  SlurmSweep(SlurmOrder order, SweepPlan plan, const CellStore& store, Streams streams);

  // Runs until every cell has a result. Returns an error if a cell cannot be simulated, or if
  // arrays repeatedly end without finishing a cell. Ctrl-C cancels the array.
  MaybeError run(std::vector<SweepCell>& cells);

  // Removes all plans. Call it after all cells have a result.
  void clean_up();

 private:
  using Clock = std::chrono::steady_clock;
  // Poll intervals. Polling takes at most a twentieth of the time.
  struct Pace {
    Clock::duration least, most;
    Clock::time_point next = {};
    bool due() const { return Clock::now() >= next; }
    void looked(Clock::time_point since);
  };

  MaybeError check_site();
  MaybeError check_partition();
  MaybeError take_over();
  MaybeError submit(const std::vector<SweepCell>& cells);
  SlurmSubmit job_for(const std::string& id, std::size_t tasks) const;
  MaybeError wait(std::vector<SweepCell>& cells);
  MaybeError cannot_be_done(const std::vector<SweepCell>& cells) const;
  Error give_up(const std::vector<SweepCell>& cells) const;
  std::string outcome_of() const;  // Outcome of the last array: "; Slurm lost array 7".

  CommandResult ask(std::vector<std::string> argv, std::string input = {});
  MaybeError hear(const CommandResult& queue);  // Fills live_.
  void tell_why_waiting();
  void cancel();
  void note(const std::string& text);
  std::string plan_dir(const std::string& id) const;

  SlurmOrder order_;
  SweepPlan plan_;
  const CellStore& store_;
  Streams streams_;
  Commands commands_;
  std::size_t most_tasks_ = 1000;

  std::set<std::string> ours_;  // Ids of plans that may have tasks in Slurm.
  std::string last_;            // Id of the last submitted plan; empty: none yet.
  std::string array_;           // Its array number in Slurm.
  std::vector<SlurmJob> live_;  // Active tasks in the last answer of Slurm.
  bool seen_ = false;           // Slurm has listed the last array, active or finished.
  std::string ended_;           // State of one of its failed tasks.
  bool silent_ = false;         // Slurm does not answer, and the user was notified.
  std::string reason_;          // The last pending reason that was printed.
  Clock::time_point submitted_;
  std::optional<ProgressBar> bar_;
  std::size_t shown_from_ = 0;  // Cells that were finished when the bar was created.
};

}  // namespace muster
