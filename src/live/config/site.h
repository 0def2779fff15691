#pragma once

// From the configuration to the servers there are and the executor that runs leases on them. The
// table of executors is in site.cc, the one place above exec/ that knows which there are. The
// daemon calls it when it starts.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "exec/lease/executor.h"
#include "exec/lease/lease_files.h"
#include "exec/machine/node.h"
#include "live/config/serve_file.h"

namespace muster {

struct Site {
  LeaseFiles files = LeaseFiles("");  // The output and reports of leases.
  std::vector<ServerFacts> servers;
  std::string isolation;               // For people: "full", or "reduced: " and why.
  std::string cgroup_parent;           // For the shims; empty: none.
  std::vector<std::string> node_test;  // What a server in quarantine must pass, if nobody says.
  bool elsewhere = false;     // They are not this machine, so they may not always be known.
  std::string trouble;        // Why these may not be the servers there are; empty if they are.
  bool as_submitter = false;  // Jobs run as whoever submitted them, not as we do.
};

// One way to run leases: a row of the table. A new executor is its own files in exec/, a row, and,
// if it has settings, a section of its name in live/config/serve_file.h.
struct ExecutorKind {
  std::string_view name;  // The value of `executor` in the configuration.
  std::string_view doc;   // One line for users.
  // Finds the servers and validates the settings. The daemon calls it before it starts anything.
  Result<Site> (*find_site)(const ServeFile& file, const std::string& home);
  // `site`: as find_site() found it. `shim`: the program. `instance`: whose leases they are.
  Result<std::unique_ptr<Executor>> (*open)(const ServeFile& file, const Site& site,
                                            const std::string& shim, const std::string& instance);
};
std::span<const ExecutorKind> executors();
std::vector<std::string_view> executor_names();  // For read_serve_file().

// By the executor that the file names. REQUIRES: it is one of executor_names().
Result<Site> find_site(const ServeFile& file, const std::string& home);

// This machine as one server, or as those the file makes of it.
std::vector<ServerFacts> servers_of(const ServeFile& file, const NodeFacts& machine);

// For a start at which they cannot be asked for.
Refusal remember_servers(const std::string& home, std::span<const ServerFacts> servers);

// The same for the executor itself; see ExecutorKind::open.
Result<std::unique_ptr<Executor>> open_executor(const ServeFile& file, const Site& site,
                                                const std::string& shim,
                                                const std::string& instance);

}  // namespace muster
