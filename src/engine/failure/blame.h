#pragma once

// What failures say about others than the job that failed: servers that should be left alone for a
// while, and jobs that fail whenever they are submitted. A driver tells both of every failure for
// which Verdict::blames names them, in order of time.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/failure/reasons.h"

namespace muster {

struct ServerBlameOptions {
  int strikes = 2;                              // So many, at least 1,
  Duration window = Duration::seconds(86'400);  // within so long, ...
  // ... and it takes no new jobs for so long; Duration::max(): until it is pardoned.
  Duration drain = Duration::seconds(86'400);
  int users = 2;  // What a program may have caused needs the word of so many users.
  Duration young = Duration::seconds(60);  // An attempt that lived no longer died young, ...
  Duration young_window = Duration::seconds(600);  // ... and so long that is held against a server.
};

// What a server is drained for.
struct Charge {
  Reason reason = Reason::kNoSignature;  // Of the last failure.
  int failures = 0;                      // That count together, ...
  int users = 0;                         // ... of so many users, ...
  Duration within;                       // ... from the first to the last.
  bool young = false;                    // For deaths of whatever reason, one soon after the other.
};

// Strikes against servers. Failures that point at the server count together, whoever's they are.
// Those that may be the program's (suspect) count only with others of the same reason, and only if
// enough different users had them on that server; what left no signature is never the same. Other
// reasons are no strikes.
//
// A server on which every job dies may show another reason each time. So attempts that died young
// there count as well, whatever the reason if it is not the program's for sure, until a job ends
// well there.
class ServerBlame {
 public:
  ServerBlame(std::size_t servers, ServerBlameOptions options);

  // Of a gang, the server whose worker failed first. A charge if the server is to be drained from
  // now until drained_until(server). Its strikes are forgotten then, and those it gets while it is
  // drained are not counted.
  std::optional<Charge> strike(Instant now, NodeId server, UserId user, Reason reason) {
    return strike(now, server, user, reason, info_of(reason).nature);
  }
  // Of a nature that a signature gave it.
  std::optional<Charge> strike(Instant now, NodeId server, UserId user, Reason reason,
                               Nature nature);
  // An attempt on this server alone was over after `ran`. The same.
  std::optional<Charge> died(Instant now, NodeId server, UserId user, Reason reason, Duration ran) {
    return died(now, server, user, reason, ran, info_of(reason).nature);
  }
  std::optional<Charge> died(Instant now, NodeId server, UserId user, Reason reason, Duration ran,
                             Nature nature);
  void succeeded(NodeId server);
  void pardon(NodeId server);  // It is open again, whatever was held against it.

  bool drained(NodeId server, Instant now) const { return now < drained_until(server); }
  Instant drained_until(NodeId server) const { return servers_[server].drained_until; }

 private:
  struct Strike {
    Instant at;
    UserId user;
    Reason reason = Reason::kNoSignature;
    bool sure = false;  // That it is the server's.
  };
  struct Server {
    std::vector<Strike> strikes;  // No older than the window, in order of time.
    std::vector<Strike> young;    // Deaths, no older than theirs.
    Instant drained_until;
  };
  static void note(std::vector<Strike>& strikes, const Strike& strike, Duration window);
  std::optional<Charge> judge(const std::vector<Strike>& alike, int users) const;
  std::optional<Charge> drain(Server& server, std::optional<Charge> charge, Instant now);

  ServerBlameOptions options_;
  IdVector<NodeId, Server> servers_;
};

// Jobs of one user and name of which `limit` in a row failed by their own fault with the same
// reason. Later ones are known to be bad and get no benefit of the doubt, until one succeeds.
class InputBlame {
 public:
  explicit InputBlame(int limit = 2);  // At least 1.

  // Attempts of one job count once.
  void failed(UserId user, NameId name, JobId job, Reason reason);
  void succeeded(UserId user, NameId name);

  bool known_bad(UserId user, NameId name) const;

 private:
  struct Input {
    UserId user;
    NameId name;
    JobId job;  // The last that failed.
    Reason reason = Reason::kNoSignature;
    int jobs = 0;  // In a row, with that reason.
  };
  // The first not before (user, name).
  std::size_t position(UserId user, NameId name) const;
  bool is(std::size_t at, UserId user, NameId name) const;

  int limit_;
  std::vector<Input> inputs_;  // By user, then name.
};

}  // namespace muster
