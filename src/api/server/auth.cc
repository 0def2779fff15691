#include "api/server/auth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "base/os/account.h"
#include "base/os/files.h"
#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::time_t kMinute = 60;

// "name:80" -> "name", "[::1]:80" -> "::1"; empty if malformed.
std::string without_port(std::string_view host) {
  const std::size_t end = host.find(host.starts_with('[') ? ']' : ':');
  if (!host.starts_with('[')) return std::string(host.substr(0, end));
  const bool whole =
      end != std::string_view::npos && (end + 1 == host.size() || host[end + 1] == ':');
  return whole ? std::string(host.substr(1, end - 1)) : "";
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

std::string user_name(uid_t uid) {
  const Result<Account> account = find_account(uid);
  return account.ok() ? account.value().name : std::to_string(uid);
}

const std::string& UserNames::of(uid_t uid) {
  const std::time_t now = std::time(nullptr);
  if (kept_.size() >= kMaxKept) kept_.clear();
  Kept& kept = kept_[uid];
  // Also after a jump of the clock to the past.
  if (now >= kept.until || kept.until - now > kMinute) kept = {user_name(uid), now + kMinute};
  return kept.name;
}

std::uint32_t UserIds::of(const std::string& user, std::time_t now) {
  if (kept_.size() >= kMaxKept) kept_.clear();
  Kept& kept = kept_[user];
  if (now >= kept.until || kept.until - now > kMinute) kept = {lookup_(user), now + kMinute};
  return kept.uid;
}

// A number without a user of that name is not a name.
std::uint32_t uid_of(const std::string& user) {
  const Result<Account> account = find_account(user);
  return account.ok() && account.value().name == user ? account.value().user : kNoUid;
}

std::string host_name() {
  std::array<char, 256> own{};
  return ::gethostname(own.data(), own.size() - 1) == 0 ? own.data() : "";
}

Result<Peer> peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return system_error("peer", errno);
  }
  Peer peer;
  if (address.ss_family == AF_UNIX) {
    ucred credentials{};
    length = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
      return system_error("peer", errno);
    }
    peer.uid = credentials.uid;
    return peer;
  }
  peer.over_tcp = true;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* raw =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  if (::inet_ntop(address.ss_family, raw, text.data(), text.size()) == nullptr) {
    return system_error("peer", errno);
  }
  peer.address = text.data();
  return peer;
}

Auth::Auth(AuthSettings settings, std::optional<TokenFile> tokens, std::optional<Tickets> tickets)
    : settings_(std::move(settings)), tokens_(std::move(tokens)), tickets_(std::move(tickets)) {
  for (std::string& host : settings_.hosts) host = lowered(host);
  settings_.hosts.emplace_back("localhost");
  if (const std::string own = host_name(); !own.empty()) settings_.hosts.push_back(lowered(own));
}

Result<Caller> Auth::caller(const Peer& peer, const HttpRequest& request) {
  if (peer.over_tcp) return token_caller(peer, request.authorization);
  return admitted({.user = names_.of(peer.uid),
                   .is_operator = peer.uid == 0 || peer.uid == ::geteuid(),
                   .uid = peer.uid,
                   .via = "socket"});
}

Result<Caller> Auth::admitted(Caller caller) const {
  if (settings_.admit) {
    if (MaybeError refusal = settings_.admit(caller)) return *std::move(refusal);
  } else if (!caller.is_operator && !settings_.others && !caller.via.starts_with("token")) {
    return Error{"this manager does not accept other users", ErrorCode::kForbidden};
  }
  return caller;
}

Result<Caller> Auth::token_caller(const Peer& peer, const std::string& authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (lowered(authorization.substr(0, kScheme.size())) != kScheme) {
    return Error{"this request needs a token in 'Authorization: Bearer TOKEN'",
                 ErrorCode::kUnauthenticated};
  }
  const std::string_view given = trim(std::string_view(authorization).substr(kScheme.size()));
  if (tickets_) {
    if (const auto owner = tickets_->owner_of(given, std::time(nullptr))) {
      return admitted({.user = owner->user,
                       .is_operator = owner->uid == 0 || owner->uid == ::geteuid(),
                       .uid = owner->uid,
                       .via = "ticket",
                       .address = peer.address});
    }
  }
  if (!tokens_) return Error{"invalid or expired ticket", ErrorCode::kUnauthenticated};
  const Result<std::optional<Caller>> found = tokens_->find(given);
  if (!found.ok()) return Error{"cannot read the token file", ErrorCode::kUnavailable};
  if (!found.value()) return Error{"unknown token", ErrorCode::kUnauthenticated};
  Caller caller = *found.value();
  caller.uid = uids_.of(caller.user);
  caller.address = peer.address;
  return admitted(std::move(caller));
}

MaybeError Auth::may_have_ticket(const Peer& peer) const {
  if (peer.over_tcp)
    return Error{"tickets are issued only on the manager's machine", ErrorCode::kForbidden};
  if (!tickets_) return Error{"this manager has no address for browsers", ErrorCode::kConflict};
  return std::nullopt;
}

Auth::Given Auth::make_ticket(const Tickets::Owner& owner, std::int64_t seconds) const {
  const std::int64_t until = std::time(nullptr) + seconds;
  return {tickets_->make(owner, until), until};
}

void Auth::set_ticket_generation(std::uint32_t uid, std::uint64_t generation) {
  if (tickets_) tickets_->set_generation(uid, generation);
}

std::vector<TokenChange> Auth::token_changes() {
  return tokens_ ? tokens_->changes() : std::vector<TokenChange>();
}

MaybeError Auth::check_origin(const Peer& peer, const HttpRequest& request) const {
  const std::string host = lowered(request.host);
  if (!request.origin.empty()) {
    const std::string origin = lowered(request.origin);
    if (host.empty() || (origin != "http://" + host && origin != "https://" + host)) {
      return Error{"Origin: the page belongs to another site", ErrorCode::kForbidden};
    }
  }
  if (!peer.over_tcp || settings_.any_host) return std::nullopt;
  const std::string name = without_port(host);
  const bool known =
      std::find(settings_.hosts.begin(), settings_.hosts.end(), name) != settings_.hosts.end();
  if (!known && !is_address(name)) {
    return Error{"Host: unknown host name: " + in_quotes(request.host), ErrorCode::kForbidden};
  }
  return std::nullopt;
}

}  // namespace muster
