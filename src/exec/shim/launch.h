#pragma once

// Starts one rank: its environment, and the way from fork to the job's first instruction. Called
// by the shim alone, once a rank.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/lease/spec.h"

namespace muster {

// "NAME=value" in order of names, each once: a few of the shim's own, the spec's additions, and
// what tells a rank its place. `progress` is the file it may append to.
std::vector<std::string> rank_environment(const LaunchSpec& spec, int local_rank,
                                          const std::string& progress);

struct StartFailure {
  int error_number = 0;
  std::string words;  // "cannot run 'trane.py': No such file or directory"
};

struct Launched {
  pid_t pid = 0;  // Also its process group. 0: see failure.
  StartFailure failure;
};

// Returns when the rank's program runs or could not be run. Output goes to `output`; the process
// has written itself into each of the `doors`. It dies with the caller.
// `data_limit` is RLIMIT_DATA in bytes, 0 for none.
Launched launch_rank(const LaunchSpec& spec, const std::vector<std::string>& environment,
                     int output, const std::vector<Fd>& doors, std::int64_t data_limit);

}  // namespace muster
