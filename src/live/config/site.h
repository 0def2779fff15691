#pragma once

// Finds the nodes of the cluster and creates the executor that runs leases on them. The table of
// executors is in site.cc, the only place above exec/ that lists them. The daemon calls these
// functions when it starts.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "exec/lease/executor.h"
#include "exec/lease/lease_files.h"
#include "exec/machine/machine_facts.h"
#include "live/config/serve_file.h"

namespace muster {

struct Site {
  LeaseFiles files = LeaseFiles("");  // The output and reports of leases.
  std::vector<NodeDescription> nodes;
  std::string isolation;      // Human-readable: "full", or "reduced: " and the reason.
  std::string cgroup_parent;  // Parent cgroup for the shims; empty: none.
  std::optional<std::vector<GpuFacts>> gpus;  // See LaunchSettings.
  std::vector<std::string> node_test;         // Default test command for quarantined nodes.
  bool elsewhere =
      false;            // The nodes are not this machine, so the list of nodes may be unavailable.
  std::string trouble;  // Why `servers` may be outdated; empty if current.
  bool as_submitter = false;  // Jobs run as the user who submitted them.
};

// One way to run leases: a row of the table. A new executor is its own files in exec/, a row, and,
// if it has settings, a section of its name in live/config/serve_file.h.
struct ExecutorKind {
  std::string_view name;  // The value of `executor` in the configuration.
  std::string_view doc;   // One line for users.
  // Finds the servers and validates the settings. The daemon calls it before it starts anything.
  Result<Site> (*find_site)(const ServeFile& file, const std::string& home);
  // `site`: the result of find_site(). `shim`: path of the program. `instance`: id of this manager.
  Result<std::unique_ptr<Executor>> (*open)(const ServeFile& file, const Site& site,
                                            const std::string& shim, const std::string& instance);
};
std::span<const ExecutorKind> executors();
std::vector<std::string_view> executor_names();  // For read_serve_file().

// Finds the nodes with the executor that the file names. REQUIRES: it is in executor_names().
Result<Site> find_site(const ServeFile& file, const std::string& home);

// Returns this machine as one node, or as the nodes that the file defines.
std::vector<NodeDescription> nodes_of(const ServeFile& file, const NodeFacts& machine);

// Saves the nodes in the state directory, for a start at which they cannot be listed.
MaybeError store_nodes(const std::string& home, std::span<const NodeDescription> nodes);

// Opens the executor that the file names; see ExecutorKind::open.
Result<std::unique_ptr<Executor>> open_executor(const ServeFile& file, const Site& site,
                                                const std::string& shim,
                                                const std::string& instance);

}  // namespace muster
