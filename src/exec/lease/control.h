#pragma once

// The control socket of a shim: the Unix socket `ctl` in the record directory. A request is one
// line with a JSON object, and so is the response. Only the shim's own user can connect. An invalid
// request gets an error. A client that sends too much or is too slow is disconnected. No client
// blocks the shim.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/types/result.h"
#include "exec/cgroup/cgroup.h"

namespace muster {

struct Request {
  enum class Do { kResize, kStop, kKill, kStatus };
  Do what = Do::kStatus;
  Limits limits;                         // For kResize.
  std::optional<std::int64_t> grace_ms;  // For kStop; default: the value of the spec.
};

inline constexpr std::size_t kMaxControlBytes = 4096;  // Size limit of one request.

// Parse and format a request:
// {"do":"resize","cpu_milli":250,"mem_mib":1024}, {"do":"stop","grace_ms":500}, {"do":"kill"},
// {"do":"status"}.
Result<Request> read_control(std::string_view line);
std::string control_json(const Request& request);

// Returns the address of `ctl` in the directory. It is short even if the path of the directory is
// long.
std::string control_path(const Fd& directory);

// The shim's side of the socket. For one thread, the shim's main thread.
class ControlServer {
 public:
  static Result<ControlServer> open(const Fd& directory);

  int fd() const { return epoll_.get(); }  // Readable when serve() has something to do.
  // Processes all available input without blocking. The handler returns the response without
  // newline.
  void serve(std::int64_t now_us, const std::function<std::string(std::string_view)>& handler);
  // The latest time for the next serve(), in the clock of `now_us`; nullopt without clients.
  std::optional<std::int64_t> deadline() const;

 private:
  struct Client {
    Fd fd;
    std::string got;
    std::int64_t until_us;
  };
  using Handler = std::function<std::string(std::string_view)>;

  ControlServer() = default;
  void welcome(std::int64_t now_us);
  bool attend(Client& client, const Handler& handler);  // False: disconnect the client.

  Fd epoll_;
  Fd listener_;
  std::vector<Client> clients_;  // Oldest first.
};

}  // namespace muster
