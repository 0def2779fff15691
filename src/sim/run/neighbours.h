#pragma once

// Who shares servers with whom, and what it costs a gang that is spread over several: on busy
// servers its exchange over the network suffers, the more so if its neighbours use the network too.
// Only the simulator knows this; no scheduler is told. The figures are of a controlled test with
// ResNet-50 on two GPUs (Philly, systems.md A6): 98.0 images/s on two servers alone, 75.6 beside
// others, 74.1 beside others that are spread as well. A gang on one server is taken to be unharmed.

#include <cstdint>
#include <vector>

#include "base/types/id.h"
#include "engine/core/books.h"

namespace muster {

inline constexpr double kBesideOthers = 75.6 / 98.0;
inline constexpr double kBesideSpreadOthers = 74.1 / 98.0;

class Neighbours {
 public:
  explicit Neighbours(std::size_t nodes) : on_node_(nodes) {}

  // The job holds this placement from now on, or none any more. Adds to `touched` the spread gangs
  // whose factor may have changed, itself included.
  void arrive(JobId job, const Placement& placement, std::vector<JobId>& touched);
  void leave(JobId job, std::vector<JobId>& touched);

  // What its speed is multiplied by.
  double factor(JobId job) const;

 private:
  void touch(const std::vector<NodeId>& nodes, std::vector<JobId>& touched) const;
  bool spread(JobId job) const { return nodes_of_[job].size() > 1; }

  IdVector<NodeId, std::vector<JobId>> on_node_;
  IdVector<JobId, std::vector<NodeId>> nodes_of_;
};

}  // namespace muster
