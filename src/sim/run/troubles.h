#pragma once

// What goes wrong in a simulation, and when: attempts that fail, servers that come and go, and the
// pool in which jobs are tried first. The same for a job whatever the scheduler and retry policy.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types/id.h"
#include "base/types/time.h"
#include "engine/failure/fault_model.h"
#include "engine/failure/node_faults.h"
#include "engine/failure/prerun.h"
#include "sim/run/result.h"

namespace muster {

// Nothing goes wrong unless asked for.
struct FailureOptions {
  FaultOptions faults{0};    // Of attempts. A rate of 0: none fails.
  NodeFaultOptions servers;  // An mtbf of 0: none fails.
  bool pre_run = false;      // Multi-GPU jobs are tried on one GPU of a pool first.
  PreRunOptions trial;
  std::int32_t pool_gpus = 8;  // Beside the cluster; at least 1.

  bool any() const { return faults.rate > 0 || servers.mtbf > Duration() || pre_run; }
};

class Troubles {
 public:
  Troubles(const FailureOptions& options, std::uint64_t seed, std::size_t nodes);

  bool any() const { return options_.any(); }

  // Of the attempt after so many failed ones. `job` is its number in the trace.
  std::optional<Trouble> trouble(std::size_t job, std::int32_t gpus, std::int32_t failed,
                                 Duration duration) const;

  // Servers: what happens next.
  struct Change {
    Instant at = Instant::never();
    NodeId node;
    bool down = false;
    std::uint32_t outage = 0;  // Of this server.
  };
  Instant next_change() const { return changes_.empty() ? Instant::never() : changes_.front().at; }
  Change pop_change();

  // The pool: first come, first served. Returns false for a job that goes without.
  bool enter_pool(std::size_t job, std::int32_t gpus, Duration duration, Instant now);
  struct Trial {
    Instant at = Instant::never();  // Its end.
    std::size_t job = 0;
    Duration took;
    bool caught = false;
    Reason reason = Reason::kNoSignature;  // If caught.
  };
  Instant next_trial() const { return trials_.empty() ? Instant::never() : trials_.front().at; }
  Trial pop_trial();

 private:
  void push_change(const Change& change);

  FailureOptions options_;
  FaultModel faults_;
  NodeFaults servers_;
  std::vector<Change> changes_;  // Heaps, the soonest first.
  std::vector<Trial> trials_;
  std::vector<Instant> pool_free_;  // When each GPU of the pool is free.
};

}  // namespace muster
