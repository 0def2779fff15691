#pragma once

// The processes of a lease on this node: the ranks that the shim started and all their descendants.
// The shim is a subreaper and adopts orphans, so no process of the job can leave its tree.

#include <sys/types.h>

#include <cstdint>
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
  // Starts the rank with this number on the node; see launch_rank().
  Launched start(const LaunchSpec& spec, int local_rank, const std::string& progress, int output,
                 const std::vector<Fd>& doors, std::int64_t data_limit);

  // Reaps all ended processes. Returns the ranks among them.
  std::vector<RankEnd> reap();

  int running() const;                          // Number of running ranks.
  bool anything_left() const { return left_; }  // Any process, as of the last reap().

  std::vector<pid_t> all() const;  // All processes of the tree.
  void signal(int number) const;   // Sends to the process group of each rank.
  // Sends to every process group of the tree, including those created by the job.
  void signal_all_groups(const std::vector<pid_t>& tree, int number) const;
  void kill_all() const;  // Kills all current processes. New ones can appear.

  double cpu_s(const TreeUse& live) const;  // Total CPU time of live and ended processes.
  void account(ExitReport& report) const;   // Sets CPU, I/O and peak memory.

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
