#pragma once

// Checks whether a Slurm site meets the requirements of Muster, for `muster doctor`. check_site()
// queries Slurm and blocks for a bounded time. Each finding contains what does not work, why, and
// what to do. The judge_ functions are pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "exec/slurm/command_runner.h"
#include "exec/slurm/slurm.h"

namespace muster {

struct SiteFinding {
  enum class Level { kOk, kWarn, kFail };  // Works; works with restrictions; does not work.
  Level level = Level::kOk;
  std::string check;  // "partition"
  std::string words;  // One line.
};
using SiteFindings = std::vector<SiteFinding>;

struct SiteQuestion {
  std::string partition;    // Empty: the default partition.
  std::string reservation;  // Optional, like account and qos.
  std::string account;
  std::string qos;
  std::string user;  // User of the test jobs; empty: the current user.
  std::string home;  // Directory that all nodes must share; empty: not checked.
  std::string shim;  // Program that all nodes must have; empty: not checked.
  Duration grace = Duration::seconds(30);    // Grace period of jobs.
  bool deep = false;                         // Run a small job on each node with a free CPU.
  Duration timeout = Duration::seconds(15);  // Timeout of each command.
};

// The current user.
struct SiteCaller {
  bool root = false;
  std::string user;
  std::vector<std::string> groups;
};
SiteCaller site_caller();

// Runs all checks and returns the findings in order of importance. Checks that are impossible after
// an earlier failure are omitted.
SiteFindings check_site(Commands& commands, const SiteQuestion& question);

// ---- Evaluation of Slurm's answers (site_config.cc, site_partition.cc).

SiteFindings judge_versions(const std::vector<std::pair<std::string, std::string>>& versions);
SiteFindings judge_select(const SlurmWords& config);
SiteFindings judge_settings(const SlurmWords& config, const SiteQuestion& question,
                            const SiteCaller& caller);
SiteFindings judge_partition(const SlurmWords& partition, const SiteQuestion& question,
                             const SiteCaller& caller);
SiteFindings judge_nodes(const std::vector<SlurmNode>& nodes, bool in_reservation);
// `seconds`: how far the clock of `whose` is at least ahead of ours; negative if behind.
SiteFinding judge_skew(const std::string& whose, double seconds);

// ---- Small jobs on the nodes (site_deep.cc).
SiteFindings check_deep(Commands& commands, const SiteQuestion& question,
                        const std::vector<SlurmNode>& nodes);

}  // namespace muster
