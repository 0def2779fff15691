#pragma once

// Conclusions from failures about nodes and inputs: nodes to quarantine, and jobs that fail each
// time they are submitted. The engine reports each failure whose Verdict::blames names them, in
// order of time.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/failure/reasons.h"

namespace muster {

struct NodeBlameOptions {
  int strikes = 2;                              // Failures that quarantine a node; at least 1.
  Duration window = Duration::seconds(86'400);  // The strikes must be within this time.
  // Length of the quarantine; Duration::max(): until pardon().
  Duration drain = Duration::seconds(86'400);
  int users = 2;  // Minimum number of users for failures that a program may have caused.
  Duration young = Duration::seconds(60);          // Maximum run time of an early failure.
  Duration young_window = Duration::seconds(600);  // As `window`, for early failures.
};

// Why a node is quarantined.
struct Charge {
  Reason reason = Reason::kNoSignature;  // The reason of the last failure.
  int failures = 0;                      // Number of failures that count together.
  int users = 0;                         // Number of their users.
  Duration within;                       // Time from the first to the last.
  bool young = false;                    // They are early failures, for any reasons.
};

// Counts failures against nodes. Failures of class kServer count together, for all users. Failures
// of class kSuspect may be caused by the program: they count only with failures of the same reason,
// and only if enough different users had them on that node. Failures without a signature and other
// classes do not count.
//
// A faulty node may cause a different reason each time. So early failures also count, for any
// reason that is not certainly caused by the program, until a job succeeds on the node.
class NodeBlame {
 public:
  NodeBlame(std::size_t nodes, NodeBlameOptions options);

  // Records a failure on a node; for a gang, the node of the first failed worker. Returns a charge
  // if the node must be quarantined until drained_until(server). That clears its strikes. Failures
  // during a quarantine do not count.
  std::optional<Charge> strike(Instant now, NodeId node, UserId user, Reason reason) {
    return strike(now, node, user, reason, info_of(reason).nature);
  }
  // The same, with the retry class that a signature specifies.
  std::optional<Charge> strike(Instant now, NodeId node, UserId user, Reason reason,
                               RetryClass nature);
  // Records an attempt on this node alone that failed after `ran`. Returns a charge as strike().
  std::optional<Charge> died(Instant now, NodeId node, UserId user, Reason reason, Duration ran) {
    return died(now, node, user, reason, ran, info_of(reason).nature);
  }
  std::optional<Charge> died(Instant now, NodeId node, UserId user, Reason reason, Duration ran,
                             RetryClass nature);
  void succeeded(NodeId node);
  void pardon(NodeId node);  // Ends the quarantine.

  bool drained(NodeId node, Instant now) const { return now < drained_until(node); }
  Instant drained_until(NodeId node) const { return nodes_[node].drained_until; }

 private:
  struct Strike {
    Instant at;
    UserId user;
    Reason reason = Reason::kNoSignature;
    bool sure = false;  // The node is certainly the cause.
  };
  struct HistoryNode {
    std::vector<Strike> strikes;  // Not older than `window`, in order of time.
    std::vector<Strike> young;    // Early failures, not older than `young_window`.
    Instant drained_until;
  };
  static void note(std::vector<Strike>& strikes, const Strike& strike, Duration window);
  std::optional<Charge> judge(const std::vector<Strike>& alike, int users) const;
  std::optional<Charge> drain(HistoryNode& node, std::optional<Charge> charge, Instant now);

  NodeBlameOptions options_;
  IdVector<NodeId, HistoryNode> nodes_;
};

// Detects users and job names whose last `limit` jobs failed by their own fault with the same
// reason. Later jobs are known_bad() and get no retry for suspect failures, until one succeeds.
class InputBlame {
 public:
  explicit InputBlame(int limit = 2);  // REQUIRES: limit is at least 1.

  // Records a failed job. Several attempts of one job count once.
  void failed(UserId user, NameId name, JobId job, Reason reason);
  void succeeded(UserId user, NameId name);

  bool known_bad(UserId user, NameId name) const;

 private:
  struct Failures {
    JobId last;  // The last job that failed.
    Reason reason = Reason::kNoSignature;
    int jobs = 0;  // Consecutive jobs with that reason.
  };

  int limit_;
  std::map<std::pair<UserId, NameId>, Failures> inputs_;
};

}  // namespace muster
