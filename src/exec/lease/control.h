#pragma once

// The shim's ear: a Unix socket `ctl` in the record directory, one JSON object a line, one line
// back. Only the shim's own user is heard. A client that sends garbage is told so, one that sends
// too much or dawdles is cut off, and none can make the shim wait.

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
  Limits limits;                         // Of a resize.
  std::optional<std::int64_t> grace_ms;  // Of a stop; else the spec's.
};

inline constexpr std::size_t kMostControlBytes = 4096;

// {"do":"resize","cpu_milli":250,"mem_mib":1024}, {"do":"stop","grace_ms":500}, {"do":"kill"},
// {"do":"status"}.
Result<Request> read_control(std::string_view line);
std::string control_json(const Request& request);

// The address of `ctl` in that directory, short however long the directory's path is.
std::string control_path(const Fd& directory);

class ControlServer {
 public:
  static Result<ControlServer> open(const Fd& directory);

  int fd() const { return epoll_.get(); }  // Readable when serve() has something to do.
  // Takes what there is, without waiting. The handler gives the answer without its newline.
  void serve(std::int64_t now_us, const std::function<std::string(std::string_view)>& handler);
  // When serve() is to be called even if nothing happens; none without clients.
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
  bool attend(Client& client, const Handler& handler);  // False: done with it.

  Fd epoll_;
  Fd listener_;
  std::vector<Client> clients_;  // Oldest first.
};

}  // namespace muster
