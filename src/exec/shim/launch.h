#pragma once

// Starts one rank: builds its environment, forks and executes the program. Only the shim calls it,
// once per rank.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/lease/spec.h"

namespace muster {

// Returns "NAME=value", sorted by name: some variables of the shim, the additions of the spec, and
// the rank variables. `progress` is the file to which the rank can append.
std::vector<std::string> rank_environment(const LaunchSpec& spec, int local_rank,
                                          const std::string& progress);

struct StartFailure {
  int error_number = 0;
  std::string words;  // "cannot run 'trane.py': No such file or directory"
};

struct Launched {
  pid_t pid = 0;  // Also its process group. 0 if it failed: see failure.
  StartFailure failure;
};

// Returns when the program runs or has failed to start. The process writes to `output`, joins the
// control groups of `doors` (see ControlGroup::doors()), and is killed when the caller dies.
// `data_limit` is RLIMIT_DATA in bytes; 0 means no limit.
Launched launch_rank(const LaunchSpec& spec, const std::vector<std::string>& environment,
                     int output, const std::vector<Fd>& doors, std::int64_t data_limit);

}  // namespace muster
