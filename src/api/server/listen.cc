#include "api/server/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text/text.h"

namespace muster {
namespace {

constexpr int kBacklog = 128;
constexpr int kSocketFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

bool has_listener(const sockaddr_un& address) {
  const Fd fd(::socket(AF_UNIX, kSocketFlags, 0));
  if (!fd.open()) return true;
  const int result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                               static_cast<socklen_t>(sizeof address));
  // EAGAIN means that a listener has a full backlog.
  return result == 0 || (errno != ECONNREFUSED && errno != ENOENT);
}

MaybeError clear_place(const std::string& path, const sockaddr_un& address) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? MaybeError() : system_error(path, errno);
  }
  if (!S_ISSOCK(facts.st_mode))
    return Error{path + ": exists and is not a socket", ErrorCode::kConflict};
  if (has_listener(address))
    return Error{path + ": another manager listens on this socket", ErrorCode::kConflict};
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error(path, errno);
  return std::nullopt;
}

struct AnyAddress {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

AnyAddress socket_address(const ListenAddress& address) {
  AnyAddress out;
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.bytes);
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.bytes);
  if (::inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    out.length = sizeof *v6;
  } else if (::inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    out.length = sizeof *v4;
  }
  return out;
}

bool is_loopback(const AnyAddress& address) {
  if (address.bytes.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address.bytes).sin6_addr);
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.bytes);
  return (ntohl(v4.sin_addr.s_addr) >> 24U) == 127;
}

}  // namespace

MaybeError check_socket_path(const std::string& path) {
  constexpr std::size_t kRoom = sizeof(sockaddr_un::sun_path);
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{"socket: the path is empty", ErrorCode::kInvalid};
  if (path.size() >= kRoom) {
    return Error{path + ": socket path longer than " + std::to_string(kRoom - 1) + " bytes",
                 ErrorCode::kInvalid};
  }
  return std::nullopt;
}

Result<UnixListener> UnixListener::open(const std::string& path, mode_t mode) {
  if (MaybeError refusal = check_socket_path(path)) return *refusal;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (MaybeError refusal = clear_place(path, address)) return *refusal;
  UnixListener listener(path, Fd(::socket(AF_UNIX, kSocketFlags, 0)));
  if (!listener.fd_.open()) return system_error(path, errno);
  const int fd = listener.fd_.get();
  struct stat facts {};
  // No client can connect before listen(), so chmod() after bind() is safe for any umask.
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), mode) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::lstat(path.c_str(), &facts) != 0) {
    return system_error(path, errno);
  }
  listener.device_ = facts.st_dev;
  listener.inode_ = facts.st_ino;
  return listener;
}

void UnixListener::close() {
  struct stat facts {};
  if (fd_.open() && ::lstat(path_.c_str(), &facts) == 0 && facts.st_ino == inode_ &&
      facts.st_dev == device_) {
    ::unlink(path_.c_str());
  }
  fd_.reset();
}

Result<ListenAddress> read_tcp_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const Error wrong{"must be an address such as 127.0.0.1:7070 or [::1]:7070, not " +
                    in_quotes(text)};
  if (colon == std::string::npos) return wrong;
  ListenAddress address;
  address.host = text.substr(0, colon);
  const bool bracketed = address.host.starts_with('[') && address.host.ends_with(']');
  if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
  const Result<std::int64_t> port = parse_int(text.substr(colon + 1));
  if (!port.ok() || port.value() < 0 || port.value() > 65'535) return wrong;
  address.port = static_cast<std::uint16_t>(port.value());
  const AnyAddress found = socket_address(address);
  if (found.length == 0 || bracketed != (found.bytes.ss_family == AF_INET6)) return wrong;
  address.loopback = is_loopback(found);
  return address;
}

Result<Fd> listen_tcp(const ListenAddress& address) {
  const AnyAddress found = socket_address(address);
  Fd fd(::socket(found.bytes.ss_family, kSocketFlags, 0));
  const int on = 1;
  if (!fd.open() || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&found.bytes), found.length) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    // Port 0 means any port, so it is not shown.
    const std::string port = address.port == 0 ? "" : ":" + std::to_string(address.port);
    return system_error(address.host + port, errno);
  }
  return fd;
}

std::uint16_t port_of(const Fd& listener) {
  sockaddr_storage bytes{};
  socklen_t length = sizeof bytes;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bytes), &length) != 0) return 0;
  return bytes.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6&>(bytes).sin6_port)
                                     : ntohs(reinterpret_cast<sockaddr_in&>(bytes).sin_port);
}

}  // namespace muster
