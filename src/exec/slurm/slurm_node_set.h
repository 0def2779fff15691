#pragma once

// The nodes of a Slurm partition, from the configuration and Slurm's output.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "exec/lease/executor.h"
#include "exec/slurm/slurm.h"

namespace muster {

struct SlurmSettings {
  std::string leases;    // On a file system that all nodes share, like `shim`.
  std::string shim;      // Path of muster-shim.
  std::string instance;  // Id of this manager, part of the comments of its jobs.
  std::string partition;
  std::string reservation;  // Optional, like account and qos.
  std::string account;
  std::string qos;
  std::map<std::string, std::string> racks;      // By node; has precedence over Slurm's topology.
  Duration every = Duration::micros(1'000'000);  // Interval of squeue and sinfo.
  Duration timeout = Duration::seconds(15);      // Timeout of one command.
  Duration restart_after = Duration::seconds(600);  // Minimum run time before a restart.
};

// The nodes with GPUs of the partition, and their addresses by name.
struct SlurmNodeSet {
  std::vector<NodeDescription> nodes;
  std::map<std::string, std::string> addresses;
};
// Fails if there is no node with GPUs. `switches`: see read_topology(). `enforces`: see
// enforces_limits().
Result<SlurmNodeSet> nodes_from(const SlurmSettings& settings, const std::vector<SlurmNode>& nodes,
                                const std::vector<std::pair<std::string, std::string>>& switches,
                                bool enforces);
// Returns only the nodes of the configured reservation, or all nodes without one. Fails if the
// reservation does not exist. `words`: the output of `scontrol show reservation`.
Result<std::vector<SlurmNode>> within_reservation(const SlurmSettings& settings,
                                                  std::vector<SlurmNode> nodes,
                                                  const SlurmWords& words);
bool enforces_limits(const SlurmWords& config);  // Whether Slurm enforces CPU and memory limits.

// Queries Slurm. Blocks until it responds or times out.
Result<std::vector<NodeDescription>> find_slurm_nodes(const SlurmSettings& settings);

// Whether jobs can run as the users who submit them. Requires root.
bool may_run_as_others();

// Returns "Slurm's partition 'gpu'", for messages.
std::string partition_words(const SlurmSettings& settings);

}  // namespace muster
