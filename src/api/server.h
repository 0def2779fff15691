#pragma once

// The manager's HTTP server: a Unix socket, and TCP if configured. It has one thread of its own,
// asks the Service, and never waits for it. `muster serve` opens one after the manager and stops it
// before the manager ends.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/auth.h"
#include "api/connection.h"
#include "api/service.h"
#include "base/result.h"

namespace muster {

struct ServerSettings {
  std::string socket_path;  // Made anew; with mode 0600, or 0666 if auth.others.
  AuthSettings auth;

  std::string tcp_address;  // "127.0.0.1:7070"; empty: none. Needs a token file.
  std::string token_file;   // See tokens.h.
  std::string certificate;  // PEM; both or none. Beyond loopback TLS is a must,
  std::string key;
  bool plain_tcp = false;  // unless this says that something else protects the way.

  std::size_t max_connections = 512;
  std::size_t max_per_peer = 128;  // Of one user on the Unix socket, or one address.
  ConnectionLimits limits;
};

class ApiServer {
 public:
  // Whether open() would find everything it needs: addresses, tokens, certificate and key. Takes no
  // place, so that it can be asked while another serves.
  static Refusal check(const ServerSettings& settings);

  // Serves from now on, until stop(). The service outlives the server.
  static Result<std::unique_ptr<ApiServer>> open(ServerSettings settings, Service& service);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Ends at once, whatever clients and the manager are about; answers that come later are dropped.
  void stop();

  std::uint16_t tcp_port() const;  // 0: none.

 private:
  struct Parts;
  explicit ApiServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
