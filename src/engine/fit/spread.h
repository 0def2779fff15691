#pragma once

// Optimus' placement of a job's parameter servers (ps) and workers (Peng et al., EuroSys 2018): as
// few nodes as possible, with equal numbers of both on each. Also the network cost of any
// placement.

#include <optional>
#include <span>
#include <vector>

namespace muster {

// Tasks of a job on one node.
struct PsShare {
  int ps = 0;
  int workers = 0;

  friend bool operator==(const PsShare&, const PsShare&) = default;
};

// Spreads ps and workers evenly over the minimum number of nodes (`servers` nodes with `capacity`
// tasks each; a ps or a worker is one task). Returns nullopt if the total capacity is too small.
// Remainders go to the first nodes for both kinds, so that a ps is where most workers are. If that
// exceeds the capacity, the remaining workers go to the last nodes.
std::optional<std::vector<PsShare>> spread_evenly(int ps, int workers, int nodes, int capacity);

// Cost model: in each step, every worker exchanges a part of the parameters, of size S / ps, with
// every ps. Exchange within a node is free. Across nodes, each task has its own link (Optimus
// reserves bandwidth per task). A task transfers its parts one after another, and the step waits
// for the slowest task. With link bandwidths B (ps) and b (worker), the transfers of a step take S
// / ps * max(at_ps / B, at_worker / b).
struct Transfers {
  int at_ps = 0;      // Parts on the busiest ps link: its workers on other nodes.
  int at_worker = 0;  // Parts on the busiest worker link: its ps on other nodes.
};

// Returns the transfers of the given placement.
Transfers transfers(std::span<const PsShare> shares);

// Returns the transfers if each node in use had a ps and a worker. Equals transfers() if every node
// in use has both kinds; otherwise it is an upper bound.
//
// Optimus' theorem, tested by brute force: on nodes of equal capacity, spread_evenly() minimizes
// both numbers of transfer_bound(), so no placement is faster for any B and b. This holds for
// transfers() only if the even spread fills its nodes completely. Otherwise a placement with nodes
// without a ps can be better. Example: 2 ps and 6 workers, 7 tasks per node. {2, 5} and {0, 1}
// transfer 2 parts; {1, 3} and {1, 3} transfer 3.
Transfers transfer_bound(std::span<const PsShare> shares);

}  // namespace muster
