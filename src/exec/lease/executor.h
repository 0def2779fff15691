#pragma once

// Interface that runs leases on this machine (MachineExecutor) or on Slurm (SlurmExecutor). A lease
// has one part per node. Each part has a record directory that is named by lease_name().

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "exec/cgroup/cgroup.h"
#include "exec/lease/report.h"
#include "exec/lease/spec.h"

namespace muster {

// An event of one part of a lease.
struct ExecEvent {
  enum class Kind { kStarted, kEnded, kLost, kNote };
  Kind kind = Kind::kStarted;
  std::string lease;  // Name of the part, such as "j12.e3".
  std::int64_t job = 0;
  std::int64_t epoch = 0;
  int node_rank = 0;
  std::optional<StartedFacts> started;  // For kStarted.
  std::optional<ExitReport> ended;      // For kEnded.
  // For kLost: the reason. By then the lease has no processes, or they can do no harm.
  // For kNote: a message for users. The lease keeps running.
  std::string why;
};

// The state of a node and its usage by external jobs.
struct NodeUpdate {
  std::string name;
  bool usable = true;  // For new leases.
  std::string why;     // One human-readable line if not usable.
  // Used by external jobs.
  std::int32_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  friend bool operator==(const NodeUpdate&, const NodeUpdate&) = default;
};

// A fault of a node that was measured, not reported by a job.
struct MeasuredFault {
  std::string node;
  std::string what;  // For users: "Xid 79".
};

// A node to schedule on.
struct NodeDescription {
  std::string name;
  std::string rack;
  std::string gpu_type;
  std::int32_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  bool gpus_virtual = false;
  bool full_isolation = false;
  std::vector<std::string> words;  // Human-readable notes.
  friend bool operator==(const NodeDescription&, const NodeDescription&) = default;
};

// Current usage of one part of a lease.
struct PartUse {
  std::int64_t job = 0;
  std::int64_t epoch = 0;
  int node_rank = 0;
  double cpu_s = 0;            // Used since the start.
  std::int64_t cpu_milli = 0;  // Current limit.
};
struct MachineUse {
  std::vector<double> gpus;  // See GpuWatch::use().
  std::vector<PartUse> parts;
};

// ExecutorLeaseRunner owns the executor and calls all methods on one thread. Orders are idempotent:
// a lease runs at most once, even if its start is ordered again after a crash of the daemon or
// shim.
class Executor {
 public:
  virtual ~Executor() = default;

  // Starts all parts of a lease, sorted by node_rank. Returns an error or nullopt for each part.
  // The records of accepted parts are durable; poll() reports their progress. Orders can be
  // repeated.
  virtual std::vector<MaybeError> start(std::span<const LaunchSpec> parts) = 0;

  // The state of a part that an earlier daemon ordered.
  enum class AdoptResult {
    kOurs,      // Running, finished or lost. poll() reports it.
    kNever,     // It never started. The caller can start it with the returned spec.
    kGone,      // It had started, but there is no data about it and no process is left.
    kAskAgain,  // Unknown at present. The caller retries.
  };
  // Re-adopts a lease after a restart. `parts` gets the specs on disk. `was_up`: it is known to
  // have started. `stopping`: it must not start.
  virtual std::vector<AdoptResult> adopt(std::span<LaunchSpec> parts, bool was_up,
                                         bool stopping) = 0;

  // Stop or kill one part. After an error the caller retries.
  virtual MaybeError stop(const std::string& part, std::optional<std::int64_t> grace_ms) = 0;
  virtual MaybeError kill(const std::string& part) = 0;
  // Changes the limits of one part. Returns "", or a message if the result differs from the order.
  virtual Result<std::string> resize(const std::string& part, Limits limits) = 0;

  // Deletes the record of a finished part. Returns false if there is no such record.
  virtual bool forget(const std::string& part) = 0;

  // Ends every active lease of this manager that is not in `known` (job, epoch). Called once,
  // before the first order. Returns one log line per ended lease.
  using Name = std::pair<std::int64_t, std::int64_t>;
  virtual std::vector<std::string> end_unknown_leases(std::span<const Name> known) = 0;

  // Returns the local command that runs `command` on a node.
  virtual std::vector<std::string> command_on(const std::string& node,
                                              std::vector<std::string> command) const = 0;

  virtual int fd() const = 0;                   // Readable when poll() has something to do.
  virtual std::vector<ExecEvent> poll() = 0;    // Never blocks for long.
  virtual std::vector<NodeUpdate> nodes() = 0;  // Updates since the last call.
  virtual std::vector<MeasuredFault> faults() { return {}; }  // Since the last call.
  // All nodes if they have changed since the last call, else nullopt.
  virtual std::optional<std::vector<NodeDescription>> changed_nodes() = 0;
  virtual std::vector<std::string> troubles() = 0;  // Log lines since the last call.
  // Current utilization; nullopt if this executor cannot measure it.
  virtual std::optional<MachineUse> use() { return std::nullopt; }
};

}  // namespace muster
