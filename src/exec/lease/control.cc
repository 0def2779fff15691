#include "exec/lease/control.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file/fields.h"
#include "exec/lease/spec.h"

namespace muster {
namespace {

constexpr std::size_t kMaxClients = 8;
constexpr std::int64_t kClientUs = 5'000'000;

bool same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

// Returns false if the client does not read the response immediately. It is then disconnected.
bool answer(int fd, std::string text) {
  text += '\n';
  const ssize_t n = ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return n == static_cast<ssize_t>(text.size());
}

}  // namespace

Result<Request> read_control(std::string_view line) {
  auto parsed = Fields::parse(line, kMaxControlBytes);
  if (!parsed.ok()) return parsed.error();
  Fields& in = parsed.value();
  Request request;
  const std::string what = in.text("do");
  if (what == "resize") {
    request.what = Request::Do::kResize;
    request.limits.cpu_milli = in.whole("cpu_milli", kMinCpuMilli, kMaxCpuMilli);
    request.limits.mem_mib = in.whole("mem_mib", 1, kMaxMemMib);
  } else if (what == "stop") {
    request.what = Request::Do::kStop;
    const std::int64_t grace = in.whole("grace_ms", 0, kMaxMillis, -1);
    if (grace >= 0) request.grace_ms = grace;
  } else if (what == "kill") {
    request.what = Request::Do::kKill;
  } else if (what == "status") {
    request.what = Request::Do::kStatus;
  } else {
    in.complain("do: not one of: resize, stop, kill, status");
  }
  if (auto refusal = in.trouble()) return *refusal;
  return request;
}

std::string control_json(const Request& request) {
  switch (request.what) {
    case Request::Do::kResize:
      return nlohmann::json({{"do", "resize"},
                             {"cpu_milli", request.limits.cpu_milli},
                             {"mem_mib", request.limits.mem_mib}})
          .dump();
    case Request::Do::kStop: {
      nlohmann::json object = {{"do", "stop"}};
      if (request.grace_ms) object["grace_ms"] = *request.grace_ms;
      return object.dump();
    }
    case Request::Do::kKill:
      return R"({"do":"kill"})";
    case Request::Do::kStatus:
      break;
  }
  return R"({"do":"status"})";
}

std::string control_path(const Fd& directory) {
  return "/proc/self/fd/" + std::to_string(directory.get()) + "/ctl";
}

Result<ControlServer> ControlServer::open(const Fd& directory) {
  ControlServer server;
  server.listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, control_path(directory).c_str(), sizeof address.sun_path - 1);
  ::unlinkat(directory.get(), "ctl", 0);  // Left by a shim that died before it started.
  if (!server.listener_.open() ||
      ::bind(server.listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::fchmodat(directory.get(), "ctl", 0600, 0) != 0 ||
      ::listen(server.listener_.get(), 16) != 0) {
    return system_error("ctl", errno);
  }
  server.epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!server.epoll_.open()) return system_error("epoll", errno);
  watch(server.epoll_.get(), server.listener_.get());
  return server;
}

void ControlServer::welcome(std::int64_t now_us) {
  for (std::size_t i = 0; i < 2 * kMaxClients; ++i) {  // serve() accepts the others next time.
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.open()) return;
    if (!same_user(fd.get())) {
      answer(fd.get(), R"({"ok":false,"error":"the lease belongs to another user"})");
      continue;
    }
    if (clients_.size() == kMaxClients) clients_.erase(clients_.begin());
    watch(epoll_.get(), fd.get());
    clients_.push_back({std::move(fd), {}, now_us + kClientUs});
  }
}

bool ControlServer::attend(Client& client, const Handler& handler) {
  char piece[kMaxControlBytes];
  const ssize_t n = ::recv(client.fd.get(), piece, sizeof piece, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  client.got.append(piece, static_cast<std::size_t>(n));
  for (std::size_t end = 0; (end = client.got.find('\n')) != std::string::npos;) {
    const std::string line = client.got.substr(0, end);
    client.got.erase(0, end + 1);
    if (!answer(client.fd.get(), handler(line))) return false;
  }
  if (client.got.size() < kMaxControlBytes) return true;
  answer(client.fd.get(), R"({"ok":false,"error":"request longer than 4096 bytes"})");
  return false;
}

void ControlServer::serve(std::int64_t now_us, const Handler& handler) {
  welcome(now_us);
  std::erase_if(clients_, [&](Client& client) {
    return !attend(client, handler) || now_us >= client.until_us;
  });
}

std::optional<std::int64_t> ControlServer::deadline() const {
  if (clients_.empty()) return std::nullopt;
  return clients_.front().until_us;
}

}  // namespace muster
