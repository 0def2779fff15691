#pragma once

// What the HTTP server asks of the manager: the port between the two. The server knows sockets,
// bytes, limits and who is calling; the manager knows jobs, and who may do what to them. A call may
// come from any thread; its answer comes later, on a thread of the manager's.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/port/calls.h"
#include "api/port/log_source.h"
#include "base/types/time.h"

namespace muster {

// How long the server waits for an answer.
inline constexpr Duration kAnswerTime = Duration::seconds(60);

// Established by the server: by the socket's peer credentials, by a token or by a ticket.
struct Caller {
  std::string user;
  bool is_operator = false;
};

// The output of a lease on one of its servers. `open` may be called on any thread, at any time.
struct LogPlace {
  std::function<std::unique_ptr<LogSource>()> open;
  std::uint64_t job = 0;
  std::uint32_t lease = 0;
  bool over = false;  // Nothing will be added any more.
};

struct Answer {
  int status = 200;  // As HTTP has them.
  std::string body;  // JSON; of an error {"error": "one line"}.
  std::optional<LogPlace> log;
};

// One thing that happened, for people who follow. `json` is one line.
struct Note {
  std::uint64_t number = 0;  // Ascending, without end.
  std::uint64_t job = 0;     // 0: not about a job.
  std::string user;          // Whose job; only they and operators may see it. Else everybody may.
  bool last = false;         // The job is over: nothing about it follows.
  std::string json;
  std::string full = {};  // The same with others' jobs named, for operators; empty: nothing more.

  const std::string& for_caller(const Caller& caller) const {
    return caller.is_operator && !full.empty() ? full : json;
  }
};
using Notes = std::shared_ptr<const std::vector<Note>>;

class Service {
 public:
  virtual ~Service() = default;

  // `done` is called exactly once, unless the manager ends first.
  virtual void call(Caller caller, Call call, std::function<void(Answer)> done) = 0;

  // From now on `news` hears of everything that happens, in order, on the manager's thread; it must
  // be quick. One watcher at a time; an empty function ends it.
  virtual void watch(std::function<void(Notes)> news) = 0;
};

}  // namespace muster
