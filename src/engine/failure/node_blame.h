#pragma once

// Decides from evidence which nodes are quarantined. The engine passes each failed attempt whose
// Verdict blames the node, each early failure, and each measured event, in order of time.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/failure/node_evidence.h"
#include "engine/failure/reasons.h"

namespace muster {

struct NodeBlameOptions {
  int strikes = 2;                              // Evidence that quarantines a node; at least 1.
  Duration window = Duration::seconds(86'400);  // The evidence must be within this time.
  // Length of the quarantine; Duration::max(): until pardon().
  Duration drain = Duration::seconds(86'400);
  int users = 2;    // Minimum number of users whose reports quarantine a node.
  int tenants = 1;  // Minimum number of their tenants; 1 if there is only one tenant.
  Duration young = Duration::seconds(60);          // Maximum run time of an early failure.
  Duration young_window = Duration::seconds(600);  // As `window`, for early failures.
  // A measured event confirms reports up to this time before and after it.
  Duration confirms = Duration::seconds(60);
  // In this time, reports quarantine at most half of the schedulable nodes.
  Duration report_period = Duration::seconds(3600);
  int refuted = 3;  // Refuted quarantines after which the reports of a tenant do not count ...
  Duration ignored = Duration::seconds(86'400);  // ... for this time.
};

// Why a node is quarantined.
struct Charge {
  Reason reason = Reason::kNoSignature;  // Reported: the reason of the last failure.
  int failures = 0;                      // Number of failures or events that count together.
  int users = 0;                         // Reported: number of their users.
  Duration within;                       // Time from the first to the last.
  bool young = false;                    // They are early failures, for any reasons.
  EvidenceGrade grade = EvidenceGrade::kReported;
  std::vector<TenantId> tenants = {};  // Reported: of the users, sorted. Empty in old journals.
  std::string what = {};               // Measured: the events, such as "Xid 79 twice".
};

// A failed attempt on a node; for a gang, on the node of the first failed worker.
struct NodeReport {
  NodeId node;
  UserId user;
  TenantId tenant;
  Reason reason = Reason::kNoSignature;
  RetryClass nature = RetryClass::kSuspect;  // From the signature, or else the reason.
  bool blames_node = true;                   // See Verdict::blames.
  bool alone = true;                         // It used no other node.
  Duration ran = Duration::max();            // max(): unknown.
  EvidenceGrade grade = EvidenceGrade::kReported;
};

// The memory of a NodeBlame that survives a restart of the engine. It contains no reports.
struct BlameMemory {
  struct Event {
    NodeId node;
    Instant at;
    std::string what;
  };
  struct Closing {  // The last quarantine of a node by reports.
    NodeId node;
    Instant at;
    std::vector<TenantId> tenants;  // Empty: decided, or confirmed by measured evidence.
  };
  struct Standing {
    TenantId tenant;
    int refuted = 0;
    Instant ignored_until;
  };
  std::vector<Event> events;
  std::vector<Closing> closings;
  std::vector<Standing> tenants;
  bool empty() const { return events.empty() && closings.empty() && tenants.empty(); }
};

// Measured evidence quarantines a node with `strikes` events. Reports do with the same reason from
// enough users and tenants; early failures count together for any reasons, because a faulty node
// may cause a different one each time, until a job succeeds there. A report that a measured event
// confirms counts as measured. The caller limits quarantines by reports (`may_close`).
class NodeBlame {
 public:
  NodeBlame(std::size_t nodes, NodeBlameOptions options);

  // Records a report. Returns a charge if the node must be quarantined until drained_until(node).
  // That clears its evidence. A charge by reports needs `may_close`; without it they stay recorded.
  // Evidence during a quarantine does not count.
  std::optional<Charge> report(Instant now, const NodeReport& report, bool may_close);
  // Records a measured event, such as "Xid 79". Returns a charge as report().
  std::optional<Charge> measured(Instant now, NodeId node, std::string what);
  void succeeded(NodeId node);  // A job succeeded there.

  void confirm(NodeId node);                   // Measured evidence confirms its quarantine.
  void test_passed(Instant now, NodeId node);  // Refutes the reports that led to its quarantine.
  void pardon(NodeId node);                    // Ends the quarantine.

  bool drained(NodeId node, Instant now) const { return now < drained_until(node); }
  Instant drained_until(NodeId node) const { return nodes_[node].drained_until; }
  bool is_ignored(TenantId tenant, Instant now) const;
  // The nodes that reports have quarantined within `report_period`, whether or not they returned.
  std::vector<NodeId> closed_by_reports(Instant now) const;

  BlameMemory memory(Instant now) const;
  void restore(const BlameMemory& memory);

 private:
  struct Strike {
    Instant at;
    UserId user;
    TenantId tenant;
    Reason reason = Reason::kNoSignature;
    bool alike = false;  // Counts with those of the same reason.
    bool young = false;  // Counts as an early failure.
  };
  struct HistoryNode {
    std::vector<Strike> strikes;             // Not older than `window`, in order of time.
    std::vector<BlameMemory::Event> events;  // Not older than `window`, in order of time.
    Instant drained_until;
  };
  static void note(std::vector<Strike>& strikes, const Strike& strike);
  void forget_old(HistoryNode& node, Instant now) const;
  std::optional<Charge> judge_events(const HistoryNode& node) const;
  std::optional<Charge> judge_reports(const std::vector<Strike>& strikes, Instant now) const;
  void drain(NodeId node, const Charge& charge, Instant now);

  NodeBlameOptions options_;
  IdVector<NodeId, HistoryNode> nodes_;
  std::vector<BlameMemory::Closing> closings_;  // At most one per node.
  std::map<TenantId, BlameMemory::Standing> standings_;
};

}  // namespace muster
