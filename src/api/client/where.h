#pragma once

// Where the manager listens, and with which token to come. Asked by every verb of the command line
// that talks to it: `--server`, else MUSTER_SERVER, else muster.sock in the manager's directory.

#include <functional>
#include <string>

#include "base/types/result.h"

namespace muster {

struct Where {
  std::string socket;  // The path of a Unix socket, or empty for TCP:
  std::string host;
  std::string port;
  bool tls = false;
  std::string token;    // Only over TCP; a Unix socket knows who calls.
  std::string ca_file;  // Certificates to trust instead of the system's; empty: the system's.

  std::string text() const;       // As a person would write it.
  std::string authority() const;  // "gpu:8080", "[::1]:80"; of a Unix socket "localhost".
};

// A variable of the environment, null if it is not set.
using Environment = std::function<const char*(const char*)>;
Environment process_environment();

// $MUSTER_HOME, else $XDG_STATE_HOME/muster, else ~/.local/state/muster.
Result<std::string> manager_home(const Environment& env);

// A path or http(s)://host:port; the token from MUSTER_TOKEN or the file `token` in the manager's
// directory, which nobody else may be able to read; MUSTER_CA names a file of certificates.
Result<Where> find_manager(const std::string& server, const Environment& env);

}  // namespace muster
