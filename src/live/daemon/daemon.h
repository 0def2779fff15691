#pragma once

// `muster serve` put together: the machine as it is, the manager, its hands and its server, from
// the configuration until a signal ends it.

#include <functional>
#include <string>

#include "api/port/service.h"
#include "base/types/result.h"

namespace muster {

struct DaemonOptions {
  std::string home;
  std::string config;       // A file; empty: config.yaml in the home, if it is there.
  std::string shim;         // The program muster-shim.
  bool check_only = false;  // Say what would be, and end.
  std::function<void(const std::string&)> say;  // A line for people.
  std::function<void(const std::string&)> log;  // A line of trouble.
  // See ManagerSettings; of the manager in the home.
  std::function<Result<std::string>(const ShowWhatIf&, const std::function<bool()>& go_on)> what_if;
};

// Where it will serve, as its configuration says.
Result<std::string> socket_of(const DaemonOptions& options);

// Until SIGTERM or SIGINT, which leave the jobs running.
Refusal run_daemon(const DaemonOptions& options);

}  // namespace muster
