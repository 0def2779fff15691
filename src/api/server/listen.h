#pragma once

// Listening sockets with restricted access: a Unix socket with given permissions, and TCP on an
// explicit IP address. Used by ApiServer.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/os/files.h"
#include "base/types/result.h"

namespace muster {

// A listening Unix socket. close() removes its file, unless another socket has replaced it.
class UnixListener {
 public:
  // Replaces a stale socket at `path`. Returns an error if another process listens there, if the
  // file is not a socket, or if the path is too long. `mode` is the file mode of the socket.
  static Result<UnixListener> open(const std::string& path, mode_t mode);
  UnixListener(UnixListener&&) noexcept = default;
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener() { close(); }

  void close();
  int get() const { return fd_.get(); }

 private:
  UnixListener(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  Fd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Returns an error if `path` is empty or too long for a Unix socket.
MaybeError check_socket_path(const std::string& path);

struct ListenAddress {
  std::string host;  // IPv4 or IPv6 address.
  std::uint16_t port = 0;
  bool loopback = false;
};

// Parses "127.0.0.1:7070" or "[::1]:7070". Rejects host names, since their address may change.
Result<ListenAddress> read_tcp_address(const std::string& text);

Result<Fd> listen_tcp(const ListenAddress& address);

// Returns the actual port, also if the requested port was 0. Returns 0 on failure.
std::uint16_t port_of(const Fd& listener);

}  // namespace muster
