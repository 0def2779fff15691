#pragma once

// Who is calling: on the Unix socket the kernel says so, over TCP a token does. And whether a
// browser sends the call on behalf of a page that is not ours. Asked by the connections, on the
// server's thread.

#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/http_reader.h"
#include "api/routes.h"
#include "api/service.h"
#include "api/tokens.h"

namespace muster {

// Where a connection comes from.
struct Peer {
  bool over_tcp = false;
  uid_t uid = 0;        // On the Unix socket.
  std::string address;  // Over TCP, without the port.

  std::string text() const { return over_tcp ? address : "uid " + std::to_string(uid); }
};

Result<Peer> peer_of(int socket);

struct AuthSettings {
  std::vector<std::string> operators;  // Beside root and the daemon's own user.
  bool others = false;             // Whether users other than these and the daemon's own may call.
  std::vector<std::string> hosts;  // By which names, beside addresses, TCP callers may call us.
};

class Auth {
 public:
  Auth(AuthSettings settings, std::optional<TokenFile> tokens);

  // Who that is, or 401, 403 or 503.
  std::variant<Caller, Problem> caller(const Peer& peer, const HttpRequest& request);

  // A browser tells which page a call comes from: only our own may. And a name that is not ours in
  // Host means that somebody else's name server led it here.
  std::optional<Problem> check_origin(const Peer& peer, const HttpRequest& request) const;

 private:
  std::variant<Caller, Problem> local_caller(uid_t uid);
  std::variant<Caller, Problem> token_caller(const std::string& authorization);

  AuthSettings settings_;
  std::optional<TokenFile> tokens_;
};

}  // namespace muster
