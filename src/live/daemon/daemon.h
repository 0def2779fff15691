#pragma once

// Runs `muster serve`: reads the configuration, finds the nodes, and connects the manager, its
// lease runner and the API server until a signal ends it.

#include <functional>
#include <string>

#include "api/port/service.h"
#include "base/types/result.h"

namespace muster {

struct DaemonOptions {
  std::string home;
  std::string config;                           // Path; empty: config.yaml in `home`, if it exists.
  std::string shim;                             // Path of muster-shim.
  bool check_only = false;                      // Print what would run, and return.
  std::function<void(const std::string&)> say;  // Prints a line for the user.
  std::function<void(const std::string&)> log;  // Logs a warning or an error.
  // See ManagerSettings::what_if.
  std::function<Result<std::string>(const ShowWhatIf&, const std::function<bool()>& go_on)> what_if;
};

// Returns the socket path of the configuration.
Result<std::string> socket_of(const DaemonOptions& options);

// Returns the line about the mode: "mode: personal: all jobs run as ann, for ann".
Result<std::string> mode_text(const DaemonOptions& options);

// Returns true if the running manager of `home` has read another configuration than the one that
// the options name.
bool has_changed_config(const DaemonOptions& options);

// Serves until SIGTERM or SIGINT. Both leave the jobs running.
MaybeError run_daemon(const DaemonOptions& options);

}  // namespace muster
