#pragma once

// The failures injected into a simulation: failing attempts, killed jobs, node outages, and the
// pool for trial runs. They depend only on the job and the seed, not on the scheduler or the retry
// policy.

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

// By default nothing fails.
struct FailureOptions {
  FaultOptions faults{0};  // Failing attempts and killed jobs. Rate 0: none.
  NodeFaultOptions nodes;  // Node outages. An mtbf of 0: none.
  bool pre_run = false;    // Multi-GPU jobs first run on one GPU of a pool.
  PreRunOptions trial;
  std::int32_t pool_gpus = 8;  // In addition to the cluster; at least 1.

  bool any() const { return faults.rate > 0 || nodes.mtbf > Duration() || pre_run; }
};

class FailureSchedule {
 public:
  FailureSchedule(const FailureOptions& options, std::uint64_t seed, std::size_t nodes);

  bool any() const { return options_.any(); }

  // Return the failure of the attempt after `failed` failed ones, if any; the run time of the job;
  // and whether its user kills it: see FaultModel. `job` is the index in the trace, and `planned`
  // the run time there.
  std::optional<InjectedFailure> trouble(std::size_t job, std::int32_t gpus, std::int32_t failed,
                                         Duration planned) const;
  Duration run_time(std::size_t job, std::int32_t gpus, Duration planned) const;
  bool is_killed(std::size_t job, std::int32_t gpus, Duration planned) const;

  // A node goes down or comes back.
  struct Change {
    Instant at = Instant::never();
    NodeId node;
    bool down = false;
    std::uint32_t outage = 0;  // Outage number of this node.
  };
  Instant next_change() const { return changes_.empty() ? Instant::never() : changes_.front().at; }
  Change pop_change();

  // Queues a trial in the pool (first come, first served). Returns false if the job needs none.
  bool enter_pool(std::size_t job, std::int32_t gpus, Duration planned, Instant now);
  struct Trial {
    Instant at = Instant::never();  // End of the trial.
    std::size_t job = 0;
    Duration took;
    bool caught = false;
    Reason reason = Reason::kNoSignature;  // Valid if caught.
  };
  Instant next_trial() const { return trials_.empty() ? Instant::never() : trials_.front().at; }
  Trial pop_trial();

 private:
  void push_change(const Change& change);

  FailureOptions options_;
  FaultModel faults_;
  NodeFaults nodes_;
  std::vector<Change> changes_;  // Heaps, soonest first.
  std::vector<Trial> trials_;
  std::vector<Instant> pool_free_;  // When each GPU of the pool becomes free.
};

}  // namespace muster
