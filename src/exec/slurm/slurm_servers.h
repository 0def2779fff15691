#pragma once

// The servers of a Slurm partition: what the site's configuration and Slurm's answers specify.

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
  std::string leases;    // On a file system that all servers see, as is the next.
  std::string shim;      // The program muster-shim.
  std::string instance;  // Whose leases they are: part of the jobs' comments.
  std::string partition;
  std::string reservation;  // This and the next two may be empty.
  std::string account;
  std::string qos;
  std::map<std::string, std::string> racks;         // By server, before Slurm's own topology.
  Duration every = Duration::micros(1'000'000);     // Between two looks at Slurm.
  Duration timeout = Duration::seconds(15);         // Of one command.
  Duration restart_after = Duration::seconds(600);  // Not earlier, to give a lease more CPUs.
};

// What sinfo, topology and configuration say of the partition's servers with GPUs.
struct SlurmServers {
  std::vector<ServerFacts> servers;
  std::map<std::string, std::string> addresses;
};
Result<SlurmServers> servers_from(const SlurmSettings& settings,
                                  const std::vector<SlurmNode>& nodes,
                                  const std::vector<std::pair<std::string, std::string>>& switches,
                                  bool enforces);
// Only those of the reservation, if there is one; an error if that is not there. `words`: as
// `scontrol show reservation` answered.
Result<std::vector<SlurmNode>> within_reservation(const SlurmSettings& settings,
                                                  std::vector<SlurmNode> nodes,
                                                  const SlurmWords& words);
bool enforces_limits(const SlurmWords& config);  // Whether Slurm holds jobs to what they have.

// Asks Slurm, and waits for it.
Result<std::vector<ServerFacts>> find_slurm_servers(const SlurmSettings& settings);

// Whether jobs can run as whoever submitted them: only root may ask for that.
bool may_run_as_others();

// "Slurm's partition 'gpu'", for messages.
std::string partition_words(const SlurmSettings& settings);

}  // namespace muster
