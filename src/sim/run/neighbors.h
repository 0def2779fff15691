#pragma once

// Models how jobs on the same nodes slow down a gang that is spread over several nodes: they
// compete for the network, more so if they are spread, too. Only the simulator uses this;
// schedulers cannot see it. The figures are from a controlled test with ResNet-50 on two GPUs
// (Philly, systems.md A6): 98.0 images/s on two nodes alone, 75.6 next to other jobs, 74.1 next to
// other spread jobs. A gang on one node is assumed not to slow down. Jobs that are time-sliced on
// the same GPUs never run at the same time, so they do not compete with each other.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/types/id.h"
#include "engine/core/resource_ledger.h"

namespace muster {

inline constexpr double kBesideOthers = 75.6 / 98.0;
inline constexpr double kBesideSpreadOthers = 74.1 / 98.0;

// Other jobs on the nodes of a gang.
enum class Company : std::uint8_t {
  kAlone,         // None.
  kOthers,        // Only jobs on one node each.
  kSpreadOthers,  // Also jobs on several nodes.
};

class Neighbors {
 public:
  explicit Neighbors(std::size_t nodes) : on_node_(nodes) {}

  // The job holds this placement from now on, or no placement after leave(). Both add to `touched`
  // the spread gangs whose factor may have changed, including this job.
  void arrive(JobId job, const Placement& placement, std::vector<JobId>& touched);
  void leave(JobId job, std::vector<JobId>& touched);

  // The company of a gang on several nodes while it runs; kAlone for all other jobs. `time_sliced`:
  // ignore other jobs on its GPUs.
  Company company(JobId job, bool time_sliced = false) const;
  // The factor of the job's speed while it runs.
  double factor(JobId job, bool time_sliced = false) const;

 private:
  using Held = std::vector<std::pair<NodeId, SlotMask>>;

  void touch(const Held& held, std::vector<JobId>& touched) const;
  bool spread(JobId job) const { return held_[job].size() > 1; }

  IdVector<NodeId, std::vector<std::pair<JobId, SlotMask>>> on_node_;
  IdVector<JobId, Held> held_;
};

}  // namespace muster
