#pragma once

// Client of muster-grant: requests grants for the user of this process. `muster submit` sends a
// grant with its job request. Not safe for use by several threads.

#include <string>
#include <string_view>

#include "exec/launch/grant.h"
#include "exec/launch/packet.h"

namespace muster {

inline constexpr const char* kGrantSocket = "/run/muster-launch/grant.sock";

// Converts the id of a manager, 32 hexadecimal digits. Fails with kInvalid.
Result<InstanceBytes> instance_bytes(std::string_view id);

class GrantClient {
 public:
  explicit GrantClient(std::string socket_path) : path_(std::move(socket_path)) {}

  // Returns a grant for the bytes of a job request to this manager, valid for `seconds` (0: the
  // default of the service). Reuses its connection, and connects again if the service closed it.
  // Waits at most 10 s for an answer. Fails with kUnavailable if the service does not answer, with
  // the code of a refusal, and with kCorrupt after any other answer.
  Result<GrantBytes> request(const InstanceBytes& instance, std::string_view job_request,
                             std::uint32_t seconds = 0);

 private:
  MaybeError connect();
  Result<Packet> ask(ByteSpan question);

  std::string path_;
  Descriptor socket_;
};

}  // namespace muster
