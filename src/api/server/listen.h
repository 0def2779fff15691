#pragma once

// Listening sockets, opened so that nobody gets in who should not: a Unix socket only its owner
// can reach (or its group), TCP on an address that was spelled out. Used by ApiServer.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/os/files.h"
#include "base/types/result.h"

namespace muster {

// A Unix socket that goes with its owner, unless another has taken its place.
class UnixListener {
 public:
  // Takes the place of a socket nobody listens on; refuses where somebody does, where something
  // else lies in the way, and paths too long for a socket. `mode` as of chmod.
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

// Whether a socket could have this path at all.
Refusal check_socket_path(const std::string& path);

struct ListenAddress {
  std::string host;  // An IP address, of version 4 or 6.
  std::uint16_t port = 0;
  bool loopback = false;
};

// "127.0.0.1:7070", "[::1]:7070"; no names, which may come to mean something else.
Result<ListenAddress> read_tcp_address(const std::string& text);

Result<Fd> listen_tcp(const ListenAddress& address);

// The one chosen where the address said 0.
std::uint16_t port_of(const Fd& listener);

}  // namespace muster
