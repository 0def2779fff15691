#pragma once

// Messages of SOCK_SEQPACKET sockets, with file descriptors.

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/types/result.h"
#include "exec/launch/struct_bytes.h"

namespace muster {

// Owns a file descriptor and closes it. The privileged programs do not link base/os.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

struct Packet {
  std::vector<std::uint8_t> bytes;
  std::vector<Descriptor> descriptors;  // Close-on-exec.
};

inline constexpr std::size_t kMaxPacketBytes = 2048;
inline constexpr std::size_t kMaxPacketDescriptors = 2;

// Returns "WHAT: text of errno". REQUIRES: the failed system call was the last one.
Error errno_error(const std::string& what);

// Receives one message; waits if the socket is blocking. Fails with kUnavailable at the end of the
// connection and after an empty message, with kInvalid if the message has more bytes or
// descriptors than the limits, and with kSystem. A failure closes all received descriptors.
Result<Packet> receive_packet(int socket);

// Sends one message. A closed connection is an error, never a signal.
MaybeError send_packet(int socket, ByteSpan bytes, std::span<const int> descriptors = {});

}  // namespace muster
