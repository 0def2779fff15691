#pragma once

// For the tests of api/: a client that sends exactly the given bytes, and functions that write
// requests and read answers.

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/os/files.h"

namespace muster {

// Timeout in milliseconds for operations that should take a moment. It is long because the machine
// may be busy; only a failing test waits this long.
inline constexpr int kPatience = 60'000;

class RawClient {
 public:
  static RawClient to_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    RawClient client(AF_UNIX);
    client.connected_ =
        ::connect(client.fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    return client;
  }
  static RawClient to_tcp(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    RawClient client(AF_INET);
    client.connected_ =
        ::connect(client.fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    return client;
  }

  bool connected() const { return connected_; }
  int get() const { return fd_.get(); }

  // Returns false if the server closed the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  // Reads up to and including `end`; keeps later bytes. Returns less if the stream ends before.
  std::string read_until(const std::string& end, int wait_ms = kPatience) {
    std::size_t at = kept_.find(end);
    while (at == std::string::npos && read_some(wait_ms)) at = kept_.find(end);
    return take(at == std::string::npos ? kept_.size() : at + end.size());
  }
  std::string read_bytes(std::size_t bytes) {
    while (kept_.size() < bytes && read_some(kPatience)) continue;
    return take(std::min(bytes, kept_.size()));
  }
  std::string read_all() {
    while (read_some(kPatience)) continue;
    return take(kept_.size());
  }
  bool ended() const { return ended_; }
  // Waits until the other end has closed, without reading.
  bool hung_up() const {
    pollfd gone{fd_.get(), 0, 0};
    return ::poll(&gone, 1, kPatience) == 1 && (gone.revents & POLLHUP) != 0;
  }

  // Reads one complete answer, using its Content-Length.
  std::string answer() {
    std::string head = read_until("\r\n\r\n");
    const std::size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    return head + read_bytes(std::strtoul(head.c_str() + at + 16, nullptr, 10));
  }
  std::string ask(std::string_view bytes) {
    send(bytes);
    return answer();
  }

 private:
  explicit RawClient(int family) : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

  std::string take(std::size_t bytes) {
    std::string taken = kept_.substr(0, bytes);
    kept_.erase(0, bytes);
    return taken;
  }
  bool read_some(int wait_ms) {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (ended_ || ::poll(&ready, 1, wait_ms) <= 0) return false;
    char room[64U << 10U];
    const ssize_t n = ::recv(fd_.get(), room, sizeof room, 0);
    ended_ = n <= 0;
    if (!ended_) kept_.append(room, static_cast<std::size_t>(n));
    return !ended_;
  }

  Fd fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string kept_;
};

inline std::string get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}
inline std::string post(const std::string& target, const std::string& body = "",
                        const std::string& headers = "") {
  const std::string type = body.empty() ? "" : "Content-Type: application/json\r\n";
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\n" + type + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
inline int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::atoi(answer.c_str() + 9) : 0;
}
inline std::string body_of(const std::string& answer) {
  const std::size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

}  // namespace muster
