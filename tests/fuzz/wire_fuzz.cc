// Arbitrary frames of the launcher and of the lease supervisor (src/exec/launch), sent over a real
// socket with 0 to 4 descriptors, as a libFuzzer target (preset `fuzz`). The first byte is the
// number of descriptors. A frame is refused, or writing it again gives the same bytes. No
// descriptor stays open.
//
//   cmake --preset fuzz && cmake --build --preset fuzz --target wire_fuzz
//   build/fuzz/tests/wire_fuzz -max_total_time=300 /tmp/found tests/fuzz/corpus/wire

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/types/check.h"
#include "exec/launch/wire.h"

namespace muster {
namespace {

void send_raw(int socket, ByteSpan bytes, std::size_t descriptors) {
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)] = {};  // All descriptors are 0.
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors);
  }
  MUSTER_CHECK(::sendmsg(socket, &message, 0) == static_cast<ssize_t>(bytes.size()));
}

// The number that the next new descriptor gets.
int next_descriptor() {
  const int number = ::dup(0);
  ::close(number);
  return number;
}

template <class Channel>
void receive(const int (&ends)[2], ByteSpan bytes, std::size_t sent_descriptors) {
  send_raw(ends[0], bytes, sent_descriptors);
  std::vector<Descriptor> descriptors;
  const Result<Channel> frame = receive_frame<Channel>(ends[1], descriptors);
  if (!frame.ok()) {
    MUSTER_CHECK(descriptors.empty());
    return;
  }
  MUSTER_CHECK(descriptors.size() == sent_descriptors);
  std::visit(
      [&]<class Frame>(const Frame& read) {
        MUSTER_CHECK(sent_descriptors == Frame::kDescriptors && read.is_valid());
        const auto again = pack_frame(read);
        MUSTER_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
      },
      frame.value());
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  static int ends[2] = {-1, -1};
  if (ends[0] < 0) MUSTER_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  if (size < 2) return 0;
  const ByteSpan bytes(data + 1, size - 1);
  const std::size_t descriptors = data[0] % 5;
  const int next = next_descriptor();
  receive<LauncherRequest>(ends, bytes, descriptors);
  receive<LauncherAnswer>(ends, bytes, descriptors);
  receive<SupervisorOrder>(ends, bytes, descriptors);
  receive<SupervisorReport>(ends, bytes, descriptors);
  MUSTER_CHECK(next_descriptor() == next);
  return 0;
}
