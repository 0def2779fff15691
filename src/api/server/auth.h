#pragma once

// Who is calling: on the Unix socket the kernel says so, over TCP a token or a ticket does. And
// whether a browser sends the call on behalf of a page that is not ours. Asked by the connections,
// on the server's thread.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/port/http_request.h"
#include "api/port/routes.h"
#include "api/port/service.h"
#include "api/server/tickets.h"
#include "api/server/tokens.h"

namespace muster {

// Where a connection comes from.
struct Peer {
  bool over_tcp = false;
  uid_t uid = 0;        // On the Unix socket.
  std::string address;  // Over TCP, without the port.

  std::string text() const { return over_tcp ? address : "uid " + std::to_string(uid); }
  // All of this machine's own addresses, of which anybody here has millions, are one.
  std::string_view place() const {
    constexpr std::string_view kOldInNew = "::ffff:";  // How IPv6 writes those of version 4.
    std::string_view whole = address;
    if (whole.starts_with(kOldInNew)) whole.remove_prefix(kOldInNew.size());
    return whole.starts_with("127.") ? whole.substr(0, 4) : whole;
  }
};

Result<Peer> peer_of(int socket);

// One the machine has no name for is called by number.
std::string user_name(uid_t uid);

// This machine's own; empty if it has none.
std::string host_name();

struct AuthSettings {
  std::vector<std::string> operators;  // Beside root and the daemon's own user.
  bool others = false;             // Whether users other than these and the daemon's own may call.
  std::vector<std::string> hosts;  // By which names, beside addresses, TCP callers may call us.
  bool any_host = false;           // By any: TLS has browsers see to the name themselves.
};

class Auth {
 public:
  Auth(AuthSettings settings, std::optional<TokenFile> tokens,
       std::optional<Tickets> tickets = std::nullopt);

  // Who that is, or 401, 403 or 503.
  Result<Caller> caller(const Peer& peer, const HttpRequest& request);

  // A browser tells which page a call comes from: only our own may. And a name that is not ours in
  // Host means that somebody else's name server led it here.
  Refusal check_origin(const Peer& peer, const HttpRequest& request) const;

  // For a browser of the caller's, who must be on the Unix socket: a token says itself what its
  // owner may do, which a ticket does not.
  struct Given {
    std::string ticket;
    std::int64_t until = 0;  // Seconds since 1970.
  };
  Result<Given> give_ticket(const Peer& peer, const Caller& caller) const;
  Given make_ticket(const std::string& user, std::int64_t seconds) const;  // There are tickets.

 private:
  // A user of this machine; `ours`: root, or whom the daemon runs as.
  Result<Caller> local_caller(const std::string& user, bool ours) const;
  Result<Caller> token_caller(const std::string& authorization);

  AuthSettings settings_;
  std::optional<TokenFile> tokens_;
  std::optional<Tickets> tickets_;
  std::vector<std::string> ours_;  // Names: root's, and of whom the daemon runs as.
};

}  // namespace muster
