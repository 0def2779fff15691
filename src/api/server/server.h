#pragma once

// The manager's HTTP server: a Unix socket, TCP, or both. It has one thread of its own,
// asks the Service, and never waits for it. `muster serve` opens one after the manager and stops it
// before the manager ends.

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
  std::string socket_path;  // Made anew; with mode 0600, or 0666 if auth.others. Empty: none.
  AuthSettings auth;

  std::string tcp_address;   // "127.0.0.1:7070"; empty: none. Needs a token file or tickets.
  bool or_any_port = false;  // Where that port is taken; or none at all, if none is to be had.
  std::string token_file;    // See tokens.h.
  std::optional<std::string> ticket_key;  // See Tickets::open(); none: there are no tickets.
  std::string certificate;                // PEM; both or none. Beyond loopback TLS is a must,
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
  // What a browser calls the page on TCP, "http://127.0.0.1:7070/"; empty: there is no TCP.
  const std::string& url() const;
  // Why there is none although any port would have done; empty otherwise.
  const std::string& tcp_trouble() const;
  // The same with a ticket for this user of the machine, who is signed in by it; there are tickets.
  std::string url_for(const std::string& user, std::int64_t seconds) const;

 private:
  struct Parts;
  explicit ApiServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster
