// muster-grant: signs grants for users on a Unix socket. Start it as root: it reads launch.conf,
// opens its socket, and changes to the user grant_uid before it reads from any client. Without
// --listen, systemd passes the listening socket, and the program ends after 10 s without a
// connection. Exit status: 0 after that time, 1 after a failure, 2 after wrong arguments.

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "exec/launch/grant_key.h"
#include "exec/launch/packet.h"
#include "exec/launch/rules.h"

namespace muster {
namespace {

constexpr int kIdleMs = 10'000;
constexpr int kReapMs = 100;  // How often to look for ended children.
constexpr std::size_t kMaxConnections = 512;
constexpr std::ptrdiff_t kMaxConnectionsPerUser = 16;
constexpr int kSystemdSocket = 3;

struct GrantOptions {
  std::string listen, conf = "/etc/muster/launch.conf", state = "/var/lib/muster-grant";
};

Result<GrantBytes> answer_question(const Result<Packet>& packet, const ucred& peer,
                                   const MaybeError& forbidden, const GrantKey& key) {
  if (forbidden) return *forbidden;
  if (!packet.ok()) return packet.error();
  if (!packet.value().descriptors.empty())
    return Error{"grant question: has a descriptor", ErrorCode::kInvalid};
  const Result<GrantQuestion> question = read_question(packet.value().bytes);
  if (!question.ok()) return question.error();
  Grant grant;
  grant.uid = peer.uid;
  grant.gid = peer.gid;
  grant.issued = ::time(nullptr);
  const std::int64_t seconds = question.value().seconds;
  grant.until = grant.issued + (seconds == 0 ? kDefaultGrantSeconds : seconds);
  grant.instance = question.value().instance;
  grant.digest = question.value().digest;
  if (::getrandom(grant.nonce.data(), grant.nonce.size(), 0) != sizeof grant.nonce)
    return errno_error("getrandom");
  return sign_grant(grant, key);
}

// Answers until the client closes the connection, is silent for kIdleMs, or gets a refusal.
void serve_connection(int socket, const ucred& peer, const Rules& rules, const GrantKey& key) {
  socklen_t size = 0;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size);  // Sets only the size.
  std::vector<gid_t> groups(size / sizeof(gid_t));                  // As they were at connect().
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) groups.clear();
  const MaybeError forbidden = may_run(rules, peer.uid, peer.gid, groups);
  const timeval limit{kIdleMs / 1000, 0};  // A client that does not read its answers.
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  for (;;) {
    const Result<Packet> packet = receive_packet(socket);
    if (!packet.ok() && packet.error().code != ErrorCode::kInvalid) return;
    const Result<GrantBytes> grant = answer_question(packet, peer, forbidden, key);
    if (grant.ok()) {
      if (send_packet(socket, grant.value())) return;
      continue;
    }
    GrantRefusal refusal{.code = grant.error().code};
    grant.error().message.copy(refusal.reason.data(), refusal.reason.size());
    send_packet(socket, pack(refusal));
    return;
  }
}

// Accepts connections and forks for each. Returns after kIdleMs without a connection if
// `ends_idle`.
int serve(int listener, const Rules& rules, const GrantKey& key, bool ends_idle) {
  std::vector<std::pair<pid_t, uid_t>> children;
  for (;;) {
    pollfd wait{listener, POLLIN, 0};
    const int timeout = !children.empty() ? kReapMs : ends_idle ? kIdleMs : -1;
    const int ready = ::poll(&wait, 1, timeout);
    for (pid_t ended = 0; (ended = ::waitpid(-1, nullptr, WNOHANG)) > 0;)
      std::erase_if(children, [ended](const auto& each) { return each.first == ended; });
    if (ready == 0 && timeout == kIdleMs) return 0;
    if (ready <= 0) continue;
    const Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (!socket.is_open() || ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
      continue;
    const auto own = std::count_if(children.begin(), children.end(),
                                   [&](const auto& each) { return each.second == peer.uid; });
    if (children.size() >= kMaxConnections || own >= kMaxConnectionsPerUser) continue;
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(listener);
      serve_connection(socket.get(), peer, rules, key);
      ::_exit(0);
    }
    if (child > 0) children.emplace_back(child, peer.uid);
  }
}

// Changes to the user for good.
MaybeError become_user(uid_t uid) {
  const passwd* account = ::getpwuid(uid);
  const gid_t gid = account != nullptr ? account->pw_gid : uid;
  const rlimit no_core{0, 0};
  if (gid == 0) return Error{"grant_uid: its group must not be root", ErrorCode::kForbidden};
  if (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0)
    return errno_error("cannot change to grant_uid");
  if (::setresuid(0, 0, 0) == 0 || ::geteuid() != uid || ::getegid() != gid)
    return Error{"cannot change to grant_uid", ErrorCode::kSystem};
  return std::nullopt;
}

Result<Descriptor> make_listener(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{"--listen: the path is longer than 107 bytes", ErrorCode::kInvalid};
  path.copy(address.sun_path, path.size());
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return errno_error("socket");
  if (::connect(socket.get(), name, sizeof address) == 0)
    return Error{path + ": another process listens here", ErrorCode::kConflict};
  if (errno == ECONNREFUSED) ::unlink(path.c_str());  // Left by a killed process.
  if (::bind(socket.get(), name, sizeof address) != 0 || ::chmod(path.c_str(), 0666) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return errno_error(path);
  return socket;
}

Result<Descriptor> systemd_listener() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  int listens = 0;
  int type = 0;
  socklen_t size = sizeof listens;
  if (pid == nullptr || pid != std::to_string(::getpid()) || count == nullptr ||
      std::strcmp(count, "1") != 0 ||
      ::getsockopt(kSystemdSocket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
      ::getsockopt(kSystemdSocket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || listens == 0 ||
      type != SOCK_SEQPACKET)
    return Error{"no sequential-packet socket from systemd; use --listen PATH",
                 ErrorCode::kInvalid};
  return Descriptor(kSystemdSocket);
}

Result<int> run(const GrantOptions& options) {
  if (::geteuid() != 0)
    return Error{"start it as root; it changes to grant_uid of launch.conf", ErrorCode::kForbidden};
  const Result<Rules> rules = load_rules(options.conf);
  if (!rules.ok()) return rules.error();
  const Result<Descriptor> listener =
      options.listen.empty() ? systemd_listener() : make_listener(options.listen);
  if (!listener.ok()) return listener.error();
  ::clearenv();
  ::umask(077);
  if (MaybeError error = become_user(rules.value().grant_uid)) return *error;
  const Result<GrantKey> key = open_grant_key(options.state);
  if (!key.ok()) return key.error();
  sign_grant(Grant{}, key.value());  // Initializes libcrypto once, before any fork.
  return serve(listener.value().get(), rules.value(), key.value(), options.listen.empty());
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::GrantOptions options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    std::string* value = name == "--listen"  ? &options.listen
                         : name == "--conf"  ? &options.conf
                         : name == "--state" ? &options.state
                                             : nullptr;
    if (value == nullptr || i + 1 == argc || *argv[i + 1] != '/') {
      std::fprintf(stderr,
                   "usage: muster-grant [--listen PATH] [--conf FILE] [--state DIR]\n"
                   "All paths are absolute.\n");
      return 2;
    }
    *value = argv[i + 1];
  }
  const muster::Result<int> status = muster::run(options);
  if (status.ok()) return status.value();
  const muster::Error& error = status.error();
  std::fprintf(stderr, "muster-grant: %s%s%s\n", error.place.c_str(),
               error.place.empty() ? "" : ": ", error.message.c_str());
  return 1;
}
