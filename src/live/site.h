#pragma once

// From the configuration to the servers there are and the executor that runs leases on them: the
// one place above exec/ that knows which executors there are. The daemon calls it when it starts.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/serve_file.h"
#include "exec/executor.h"
#include "exec/node.h"

namespace muster {

struct Site {
  std::vector<ServerFacts> servers;
  std::string isolation;               // For people: "full", or "reduced: " and why.
  std::string cgroup_parent;           // For the shims; empty: none.
  std::vector<std::string> node_test;  // What a server in quarantine must pass, if nobody says.
  bool elsewhere = false;     // They are not this machine, so they may not always be known.
  std::string trouble;        // Why these may not be the servers there are; empty if they are.
  bool as_submitter = false;  // Jobs run as whoever submitted them, not as we do.
};

// Whatever is wrong with it is said here, before anything is started.
Result<Site> find_site(const ServeFile& file, const std::string& home);

// This machine as one server, or as those the file makes of it.
std::vector<ServerFacts> servers_of(const ServeFile& file, const NodeFacts& machine);

// For a start at which they cannot be asked for.
Refusal remember_servers(const std::string& home, std::span<const ServerFacts> servers);

// `instance`: whose leases they are; see instance.h. `site`: as find_site() found it.
Result<std::unique_ptr<Executor>> open_executor(const ServeFile& file, const std::string& home,
                                                const std::string& shim,
                                                const std::string& instance, const Site& site);

}  // namespace muster
