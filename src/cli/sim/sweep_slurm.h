#pragma once

// Does the cells of a sweep on a cluster of Slurm: submits what is missing as an array of tasks,
// each with a slice of the plan (cli/sim/sweep_plan.h), and takes up the results from the directory
// that the nodes share with us. What counts is there: Slurm is only asked whether anybody is still
// at work. So it does no harm if Slurm loses tasks, runs one twice or brings a cancelled one back.

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/terminal/progress.h"
#include "cli/common/command.h"
#include "cli/sim/sweep_plan.h"
#include "exec/slurm/commands.h"
#include "exec/slurm/slurm.h"

namespace muster {

struct SlurmOrder {
  std::string partition, account, qos, reservation;  // Empty: as the site has it.
  Duration time_limit;                               // Of a task; zero: as the site has it.
  int cells_per_task = 1;                            // At a time; as many CPUs.
  std::int64_t mem_mib = 2048;                       // For each of those.
  std::size_t jobs_at_once = 0;                      // 0: as many as Slurm likes.
};

// How many tasks for so many cells, when an array may have so many.
std::size_t task_count(std::size_t cells, const SlurmOrder& order, std::size_t most);

class SlurmSweep {
 public:
  // The plan says everything but the cells.
  SlurmSweep(SlurmOrder order, SweepPlan plan, const CellStore& store, Streams streams);

  // Until every cell has a result, one cannot be done, tasks end and end without finishing any, or
  // Ctrl-C is pressed, which cancels the array.
  Refusal run(std::vector<SweepCell>& cells);

  // When all is done: nothing of the plans stays.
  void clean_up();

 private:
  using Clock = std::chrono::steady_clock;
  // When to look again: at most a twentieth of the time goes into looking.
  struct Pace {
    Clock::duration least, most;
    Clock::time_point next = {};
    bool due() const { return Clock::now() >= next; }
    void looked(Clock::time_point since);
  };

  Refusal check_site();
  Refusal check_partition();
  Refusal take_over();
  Refusal submit(const std::vector<SweepCell>& cells);
  SlurmSubmit job_for(const std::string& id, std::size_t tasks) const;
  Refusal wait(std::vector<SweepCell>& cells);
  Refusal cannot_be_done(const std::vector<SweepCell>& cells) const;
  Error give_up(const std::vector<SweepCell>& cells) const;
  std::string what_became() const;  // Of the last array: "; Slurm lost array 7".

  CommandResult ask(std::vector<std::string> argv, std::string input = {});
  Refusal hear(const CommandResult& queue);  // Fills live_.
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
  std::string last_;            // The one that was submitted last; empty: none yet.
  std::string array_;           // What Slurm calls it.
  std::vector<SlurmJob> live_;  // Tasks that are not over, as Slurm last said.
  bool seen_ = false;           // Slurm has shown the last array, dead or alive.
  std::string ended_;           // How one of its tasks ended, other than well.
  bool silent_ = false;         // Slurm does not answer, and that was told.
  std::string reason_;          // Why nothing of it runs, as it was told.
  Clock::time_point submitted_;
  std::optional<ProgressBar> bar_;
  std::size_t shown_from_ = 0;  // Cells that were done when the bar was begun.
};

}  // namespace muster
