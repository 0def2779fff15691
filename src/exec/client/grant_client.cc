#include "exec/client/grant_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/text/hex.h"

namespace muster {

namespace {

constexpr timeval kPatience{10, 0};

Error unavailable(const std::string& path, const std::string& what) {
  return Error{path + ": " + what + "; check that muster-grant runs", ErrorCode::kUnavailable};
}

Error refusal_of(const GrantRefusal& refusal) {
  const auto end = std::find(refusal.reason.begin(), refusal.reason.end(), '\0');
  std::string text(refusal.reason.begin(), end);
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!printable || text.empty() || refusal.code > ErrorCode::kInterrupted)
    return Error{"muster-grant: unknown answer", ErrorCode::kCorrupt};
  return Error{"muster-grant: " + text, refusal.code};
}

}  // namespace

Result<InstanceBytes> instance_bytes(std::string_view id) {
  InstanceBytes bytes{};
  const auto read = from_hex(id);
  if (!read || read->size() != bytes.size())
    return Error{"instance: not 32 hexadecimal digits", ErrorCode::kInvalid};
  std::copy(read->begin(), read->end(), bytes.begin());
  return bytes;
}

MaybeError GrantClient::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path)
    return Error{path_ + ": longer than 107 bytes", ErrorCode::kInvalid};
  path_.copy(address.sun_path, path_.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return errno_error("socket");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return unavailable(path_, errno_error("connect").message);
  socket_ = std::move(socket);
  return std::nullopt;
}

// An error closes the connection. A question can be repeated: it changes nothing.
Result<Packet> GrantClient::ask(ByteSpan question) {
  MaybeError problem = send_packet(socket_.get(), question);
  if (!problem) {
    Result<Packet> answer = receive_packet(socket_.get());
    if (answer.ok()) return answer;
    problem = answer.error();
  }
  socket_ = Descriptor();
  return unavailable(path_, problem->message);
}

Result<GrantBytes> GrantClient::request(const InstanceBytes& instance, std::string_view job_request,
                                        std::uint32_t seconds) {
  GrantQuestion question;
  question.seconds = seconds;
  question.instance = instance;
  question.digest =
      sha256({reinterpret_cast<const std::uint8_t*>(job_request.data()), job_request.size()});
  const auto bytes = pack(question);
  const bool reused = socket_.is_open();
  if (!reused) {
    if (MaybeError error = connect()) return *error;
  }
  Result<Packet> answer = ask(bytes);
  if (!answer.ok() && reused) {  // The service closes connections that are idle for 10 s.
    if (MaybeError error = connect()) return *error;
    answer = ask(bytes);
  }
  if (!answer.ok()) return answer.error();
  if (const auto refusal = unpack<GrantRefusal>(answer.value().bytes)) {
    socket_ = Descriptor();
    return refusal_of(*refusal);
  }
  const Result<Grant> grant = read_grant(answer.value().bytes, ::time(nullptr));
  if (!grant.ok() || grant.value().uid != ::geteuid() || grant.value().instance != instance ||
      grant.value().digest != question.digest) {
    socket_ = Descriptor();
    return Error{"muster-grant: unknown answer", ErrorCode::kCorrupt};
  }
  return pack(grant.value());
}

}  // namespace muster
