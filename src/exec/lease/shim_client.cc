#include "exec/lease/shim_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file/fields.h"
#include "base/os/processes.h"
#include "base/text/text.h"

namespace muster {
namespace {

constexpr std::size_t kMaxAnswerBytes = 64 << 10;

Result<Fd> connect_to(const Fd& directory) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.open()) return system_error("socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, control_path(directory).c_str(), sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return system_error("ctl", errno);
  }
  return fd;
}

// Sends a line and returns the first line of the response.
Result<std::string> exchange(const Fd& directory, std::string line, Duration wait) {
  auto fd = connect_to(directory);
  if (!fd.ok()) return fd.error();
  line += '\n';
  const ssize_t sent = ::send(fd.value().get(), line.data(), line.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(line.size())) return system_error("ctl", errno);
  const std::int64_t until = boot_micros() + wait.us();
  std::string got;
  while (got.find('\n') == std::string::npos) {
    const std::int64_t left = until - boot_micros();
    if (left <= 0)
      return Error{"no response from the shim within " + short_duration(wait),
                   ErrorCode::kUnavailable};
    pollfd ready{fd.value().get(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left / 1000 + 1, 60'000)));
    char piece[4096];
    const ssize_t n = ::recv(fd.value().get(), piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) return system_error("ctl", errno);
    if (n == 0) return Error{"ctl: closed without a response", ErrorCode::kUnavailable};
    got.append(piece, static_cast<std::size_t>(n));
    if (got.size() > kMaxAnswerBytes) return Error{"ctl: response too long", ErrorCode::kCorrupt};
  }
  return got.substr(0, got.find('\n'));
}

// Returns the response object if it has "ok": true, else its error.
Result<Fields> yes_to(const Fd& directory, const Request& request, Duration wait) {
  const auto line = exchange(directory, control_json(request), wait);
  if (!line.ok()) return line.error();
  auto fields = Fields::parse(line.value(), kMaxAnswerBytes);
  if (!fields.ok()) return Error{"ctl: " + fields.error().message, ErrorCode::kCorrupt};
  if (fields.value().flag("ok")) return fields;
  return Error{fields.value().text("error", "refused"), ErrorCode::kConflict};
}

}  // namespace

MaybeError ask_shim(const Fd& directory, const Request& request, Duration wait) {
  const auto answer = yes_to(directory, request, wait);
  if (!answer.ok()) return answer.error();
  return std::nullopt;
}

Result<ShimStatus> ask_status(const Fd& directory, Duration wait) {
  auto answer = yes_to(directory, Request{}, wait);
  if (!answer.ok()) return answer.error();
  Fields& in = answer.value();
  ShimStatus status;
  status.state = in.text("state");
  status.ranks_running = static_cast<int>(in.whole("ranks_running", 0, INT32_MAX));
  status.limits.cpu_milli = in.whole("cpu_milli", 0, INT64_MAX);
  status.limits.mem_mib = in.whole("mem_mib", 0, INT64_MAX);
  status.cpu_s = in.number("cpu_s");
  status.mem_bytes = in.whole("mem_bytes", 0, INT64_MAX);
  status.log_lost_bytes = in.whole("log_lost_bytes", 0, INT64_MAX);
  status.log_trouble = in.text("log_trouble");
  if (auto refusal = in.trouble()) return Error{"ctl: " + refusal->message, ErrorCode::kCorrupt};
  return status;
}

}  // namespace muster
