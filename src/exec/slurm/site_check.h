#pragma once

// Is this site's Slurm fit for Muster? check_site() asks it, for a bounded time, and says of each
// thing what will not work, why, and what to do. The judges below it are pure.

#include <string>
#include <string_view>
#include <vector>

#include "base/types/time.h"
#include "exec/slurm/commands.h"
#include "exec/slurm/slurm.h"

namespace muster {

struct SiteFinding {
  enum class Level { kOk, kWarn, kFail };  // Works; works less well; does not work.
  Level level = Level::kOk;
  std::string check;  // "partition"
  std::string words;  // One line.
};
using SiteFindings = std::vector<SiteFinding>;

struct SiteQuestion {
  std::string partition;    // Empty: the default one.
  std::string reservation;  // This and the next two: empty, none.
  std::string account;
  std::string qos;
  std::string user;  // Whose jobs are tried; empty: our own.
  std::string home;  // Directory that all nodes must see; empty: not looked at.
  std::string shim;  // Program that all nodes must see; empty: not looked at.
  Duration grace = Duration::seconds(30);    // What jobs have to stop in.
  bool deep = false;                         // Run a tiny job on each node that has room.
  Duration timeout = Duration::seconds(15);  // Of each command.
};

struct SiteCaller {
  bool root = false;
  std::string user;
  std::vector<std::string> groups;
};
SiteCaller site_caller();

// In the order in which a person would look. What cannot be asked because of an earlier failure is
// left out.
SiteFindings check_site(Commands& commands, const SiteQuestion& question);

// ---- What they mean.

SiteFindings judge_versions(const std::vector<std::pair<std::string, std::string>>& versions);
SiteFindings judge_select(const SlurmWords& config);
SiteFindings judge_settings(const SlurmWords& config, const SiteQuestion& question,
                            const SiteCaller& caller);
SiteFindings judge_partition(const SlurmWords& partition, const SiteQuestion& question,
                             const SiteCaller& caller);
SiteFindings judge_nodes(const std::vector<SlurmNode>& nodes, bool in_reservation);
// By which the controller's clock is ahead of ours, at least; negative if behind.
SiteFinding judge_skew(const std::string& whose, double seconds);

// ---- Small jobs on the nodes themselves (site_deep.cc).
SiteFindings check_deep(Commands& commands, const SiteQuestion& question,
                        const std::vector<SlurmNode>& nodes);

}  // namespace muster
