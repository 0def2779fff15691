#pragma once

// Address of the manager and the token to use there. Each client command calls find_manager(): it
// uses `--server`, or else MUSTER_SERVER, or else muster.sock in the state directory.

#include <functional>
#include <string>

#include "base/types/result.h"

namespace muster {

struct ManagerAddress {
  std::string socket;  // Path of the Unix socket; empty: TCP to host and port.
  std::string host;
  std::string port;
  bool tls = false;
  std::string token;    // TCP only; on a Unix socket the kernel identifies the caller.
  std::string ca_file;  // Trusted certificates; empty: those of the operating system.

  std::string text() const;       // A path or URL, for messages.
  std::string authority() const;  // "gpu:8080" or "[::1]:80"; "localhost" for a Unix socket.
};

// Returns the value of an environment variable, or null if it is not set.
using Environment = std::function<const char*(const char*)>;
Environment process_environment();

// Returns the state directory: $MUSTER_HOME, or $XDG_STATE_HOME/muster, or ~/.local/state/muster.
Result<std::string> manager_home(const Environment& env);

// `server` is a path or http(s)://host:port; empty: MUSTER_SERVER or the default. The token comes
// from MUSTER_TOKEN or from the file `token` in the state directory; only its owner may be able to
// read that file. MUSTER_CA names a file of trusted certificates.
Result<ManagerAddress> find_manager(const std::string& server, const Environment& env);

}  // namespace muster
