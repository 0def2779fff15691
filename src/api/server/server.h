#pragma once

// HTTP server on a Unix socket, on TCP, or on both. It runs on its own thread and calls the Service
// without blocking. `muster serve` opens it after the manager and stops it before the manager;
// `muster view` opens one for its viewer.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "api/server/auth.h"
#include "api/server/connection.h"
#include "base/types/result.h"

namespace muster {

struct ServerSettings {
  std::string socket_path;  // Mode 0600, or 0666 if auth.others. Empty: no Unix socket.
  AuthSettings auth;

  std::string tcp_address;  // "127.0.0.1:7070"; empty: no TCP. Needs token_file or ticket_key.
  bool or_any_port =
      false;               // If the port is in use, use any port, or no TCP at all (tcp_trouble()).
  std::string token_file;  // See tokens.h.
  std::optional<std::string> ticket_key;  // See Tickets::open(); nullopt: no tickets.
  std::string certificate;                // PEM file, together with `key`; empty: no TLS.
  std::string key;                        // PEM file.
  bool plain_tcp = false;                 // Allow TCP without TLS on addresses other than loopback.

  std::size_t max_connections = 512;
  std::size_t max_per_peer = 128;  // Per user on the Unix socket, or per TCP address.
  ConnectionLimits limits;
};

class ApiServer {
 public:
  // Validates the settings and the files they name, as open() does. Opens no sockets, so it can be
  // called while another server uses the same address.
  static MaybeError check(const ServerSettings& settings);

  // Starts to serve, until stop(). `service` must outlive the server.
  static Result<std::unique_ptr<ApiServer>> open(ServerSettings settings, Service& service);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Closes all connections immediately and joins the thread. Drops answers that arrive later.
  void stop();

  std::uint16_t tcp_port() const;  // 0: no TCP.
  // URL of the dashboard, such as "http://127.0.0.1:7070/"; empty: no TCP.
  const std::string& url() const;
  // With or_any_port: the reason why there is no TCP; empty otherwise.
  const std::string& tcp_trouble() const;
  // Returns url() with a ticket that signs this user of the machine in, valid for `seconds`.
  // REQUIRES: ticket_key is set and url() is not empty.
  std::string url_for(const std::string& user, std::int64_t seconds) const;

 private:
  struct Parts;
  explicit ApiServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
