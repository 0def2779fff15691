#pragma once

// Interface between the HTTP server and the manager (or `muster view`). The server handles sockets,
// limits and authentication. The manager handles jobs and authorization. Calls may come from any
// thread; the answer arrives later on a thread of the manager.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/port/calls.h"
#include "api/port/log_source.h"
#include "api/port/rights.h"
#include "base/types/time.h"
#include "base/types/uid.h"

namespace muster {

// Maximum time that the server waits for an answer.
inline constexpr Duration kAnswerTime = Duration::seconds(60);

// An authenticated user. The server uses the socket's peer credentials, a token or a ticket.
struct Caller {
  std::string user = {};
  bool is_operator = false;
  std::uint32_t uid = kNoUid;
  std::string via = {};      // For the audit: "socket", "token NAME" or "ticket".
  std::string address = {};  // IP address; empty on the Unix socket.
  // Null: an operator, or a user who sees only their own jobs; see permissions.h.
  std::shared_ptr<const Rights> rights = {};
};

// The output of a lease on one of its nodes. `open` may be called on any thread, at any time.
struct LogPlace {
  std::function<std::unique_ptr<LogSource>()> open;
  std::uint64_t job = 0;
  std::uint32_t lease = 0;
  bool over = false;      // The output is complete.
  std::string user = {};  // Owner of the job.
  std::uint32_t uid = kNoUid;

  JobOwner owner() const { return {user, uid, {}}; }
};

struct Answer {
  int status = 200;             // HTTP status.
  std::string body;             // JSON; for errors see error_answer.h.
  std::optional<LogPlace> log;  // FindLog only.
};

// An event for clients that follow events. `json` is one line.
struct Note {
  std::uint64_t number = 0;  // Ascending, never reused.
  std::uint64_t job = 0;     // 0: not about a job.
  std::string user;          // Owner of the job. If `job` is 0, all callers may see the event.
  bool last = false;         // Last event of this job: it has finished.
  std::string json;
  std::string full = {};  // `json` with the names of other users' jobs; empty: same.
  std::uint32_t uid = kNoUid;
  std::string tenant = {};

  JobOwner owner() const { return {user, uid, tenant}; }
};
using Notes = std::shared_ptr<const std::vector<Note>>;

// A decision of the server itself, for the audit: a refusal, or a changed token file.
struct ServerAct {
  Caller caller = {};       // Without a user if the caller is not authenticated.
  std::string call = {};    // CallInfo::name, or a name of the server; empty: not known.
  std::string object = {};  // For example "job 12"; may be empty.
  int status = 0;           // HTTP status of the answer.
  std::string answer = {};  // Short text. Contains no credentials.
};

// The current generation of the tickets of each uid; 0 for other uids. See tickets.h.
using TicketGenerations = std::map<std::uint32_t, std::uint64_t>;

class Service {
 public:
  virtual ~Service() = default;

  // `done` is called exactly once, unless the manager ends first.
  virtual void call(Caller caller, Call call, std::function<void(Answer)> done) = 0;

  // Adds the decision to the audit. Any thread. Does not block; a flood of refusals is counted and
  // dropped.
  virtual void record(ServerAct /*act*/) {}

  // The server calls this once, before its first call().
  virtual TicketGenerations ticket_generations() const { return {}; }

  // Calls `news` with every later event, in order, on the manager's thread. `news` must not block.
  // There is one watcher at a time; an empty function removes it.
  virtual void watch(std::function<void(Notes)> news) = 0;
};

}  // namespace muster
