#pragma once

// The processes of a lease as the shim sees them: the ranks it started and, because it adopts
// every orphan below it, all that came of them. Nothing a job starts can leave this tree.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/os/processes.h"
#include "exec/cgroup/cgroup.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"
#include "exec/shim/launch.h"

namespace muster {

class Ranks {
 public:
  // Starts all, or stops at the first that cannot be started; those before it then run.
  std::optional<StartFailure> start(const LaunchSpec& spec, const std::string& progress, int output,
                                    const std::vector<Fd>& doors, std::int64_t data_limit);

  // Takes note of every process that has ended; the ranks among them.
  std::vector<RankEnd> reap();

  int running() const;                          // Ranks.
  bool anything_left() const { return left_; }  // Any process at all, as of the last reap().

  std::vector<pid_t> all() const;  // Every process of the tree.
  void signal(int number) const;   // To each rank's process group.
  // To every process group of the tree, also those that moved away from their rank's.
  void signal_all_groups(const std::vector<pid_t>& tree, int number) const;
  void kill_all() const;  // Every process there is now; new ones may appear meanwhile.

  double cpu_s(const TreeUse& live) const;  // Of the live ones and all that ended.
  void account(ExitReport& report) const;   // CPU, I/O, the largest process.

 private:
  struct Rank {
    pid_t pid = 0;
    int rank = 0;
    bool running = false;
  };
  std::vector<Rank> ranks_;
  bool left_ = false;
  IoUse io_;
};

}  // namespace muster
