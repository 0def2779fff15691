#pragma once

// Authentication: identifies the caller by the kernel's peer credentials on the Unix socket, and by
// a token or ticket over TCP. Also rejects requests that a browser sends for pages of other sites.
// Connections call it on the server's thread.

#include <sys/types.h>

#include <ctime>
#include <functional>
#include <map>
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

// The remote end of a connection.
struct Peer {
  bool over_tcp = false;
  uid_t uid = 0;        // Unix socket only.
  std::string address;  // TCP only: IP address without the port.

  std::string text() const { return over_tcp ? address : "uid " + std::to_string(uid); }
  // Returns the address for per-peer limits. All loopback addresses (127.x.x.x) count as one, since
  // a local user can use any of them.
  std::string_view place() const {
    constexpr std::string_view kOldInNew = "::ffff:";  // Prefix of IPv4-mapped IPv6 addresses.
    std::string_view whole = address;
    if (whole.starts_with(kOldInNew)) whole.remove_prefix(kOldInNew.size());
    return whole.starts_with("127.") ? whole.substr(0, 4) : whole;
  }
};

Result<Peer> peer_of(int socket);

// Returns the user's name, or the number if the machine has no name for it.
std::string user_name(uid_t uid);
// Returns the uid of a user of this machine, or kNoUid.
std::uint32_t uid_of(const std::string& user);

// Returns the host name of this machine, or an empty string on failure.
std::string host_name();

struct AuthSettings {
  bool others = false;             // Users other than root and the daemon's own user may call.
  std::vector<std::string> hosts;  // Accepted names in Host over TCP, besides IP addresses.
  bool any_host = false;           // Accept any Host: with TLS, browsers verify the name.
  // Gives an identified caller their role and rights, or refuses them. Called on the server's
  // thread. Default: root and the daemon's own user are operators; the others see `others`.
  std::function<MaybeError(Caller&)> admit = {};
};

// The names of users by uid. A lookup can ask a network service, so names are kept for a minute.
class UserNames {
 public:
  const std::string& of(uid_t uid);

 private:
  struct Kept {
    std::string name;
    std::time_t until = 0;
  };
  static constexpr std::size_t kMaxKept = 10'000;
  std::map<uid_t, Kept> kept_;
};

// Keeps the uids of users for a minute, also of unknown users, for the same reason.
class UserIds {
 public:
  using Lookup = std::function<std::uint32_t(const std::string&)>;
  explicit UserIds(Lookup lookup = uid_of) : lookup_(std::move(lookup)) {}

  std::uint32_t of(const std::string& user, std::time_t now = std::time(nullptr));

 private:
  struct Kept {
    std::uint32_t uid = kNoUid;
    std::time_t until = 0;
  };
  static constexpr std::size_t kMaxKept = 10'000;
  Lookup lookup_;
  std::map<std::string, Kept> kept_;
};

class Auth {
 public:
  Auth(AuthSettings settings, std::optional<TokenFile> tokens,
       std::optional<Tickets> tickets = std::nullopt);

  // Returns the caller, or an error: kUnauthenticated, kForbidden or kUnavailable.
  Result<Caller> caller(const Peer& peer, const HttpRequest& request);

  // Same as user_name(), but keeps each answer of the system for a minute.
  const std::string& name_of(uid_t uid) { return names_.of(uid); }

  // Rejects requests whose Origin is another site. Over TCP, also rejects unknown names in Host,
  // which indicate DNS rebinding.
  MaybeError check_origin(const Peer& peer, const HttpRequest& request) const;

  // A caller on the Unix socket may have a ticket for a browser. A token has a role, which a ticket
  // would not keep.
  MaybeError may_have_ticket(const Peer& peer) const;
  struct Given {
    std::string ticket;
    std::int64_t until = 0;  // Seconds since 1970.
  };
  Given make_ticket(const Tickets::Owner& owner, std::int64_t seconds) const;  // REQUIRES: tickets.
  void set_ticket_generation(std::uint32_t uid, std::uint64_t generation);

  // Returns how the token file has changed since the last call.
  std::vector<TokenChange> token_changes();

 private:
  // Applies the rules to a caller whose identity is known.
  Result<Caller> admitted(Caller caller) const;
  Result<Caller> token_caller(const Peer& peer, const std::string& authorization);

  AuthSettings settings_;
  std::optional<TokenFile> tokens_;
  std::optional<Tickets> tickets_;
  UserNames names_;
  UserIds uids_;
};

}  // namespace muster
