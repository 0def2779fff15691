#pragma once

// Where a job's parameter servers (ps) and workers go: Optimus' placement (Peng et al., EuroSys
// 2018), the fewest servers with equal numbers of both on each, and what the network makes of any
// placement.

#include <optional>
#include <span>
#include <vector>

namespace muster {

// What one server holds of a job.
struct PsShare {
  int ps = 0;
  int workers = 0;

  friend bool operator==(const PsShare&, const PsShare&) = default;
};

// The even spread of both sorts over the fewest of `servers` servers that hold `capacity` tasks
// each, where either sort counts as one task; nothing if all of them together are too small. Each
// server gets the same number of ps and of workers, or one more where the division leaves a
// remainder: the first servers get those of either sort, so that a ps sits where the most workers
// are; only if that is too much for a server do the last servers get the remaining workers.
std::optional<std::vector<PsShare>> spread_evenly(int ps, int workers, int servers, int capacity);

// The cost model. In a step every worker exchanges one part of the parameters, of size S / ps, with
// every ps. Two tasks on one server do that for nothing. Across servers, each task has a link of
// its own (Optimus reserves bandwidth for a task): the parts a task exchanges with other servers go
// through it one after another, and the step waits for the slowest task. With links of B for a ps
// and b for a worker a step transfers for S / ps * max(at_ps / B, at_worker / b).
struct Transfers {
  int at_ps = 0;      // Parts through the busiest link of a ps: its workers on other servers.
  int at_worker = 0;  // Parts through the busiest link of a worker: its ps on other servers.
};

// What the tasks that are there have to transfer.
Transfers transfers(std::span<const PsShare> shares);

// What a ps and a worker would have to transfer on the worst server in use, were there one of each:
// the same as transfers() where every server in use holds both sorts, an upper bound elsewhere.
//
// The theorem of Optimus, tested by brute force: no placement on servers of one capacity makes
// either number of transfer_bound() smaller than spread_evenly() does, so none is faster for any B
// and b. Of transfers() itself that is true if the even spread fills its servers to the last task.
// If it does not, a placement that leaves some servers without a ps can be better: of 2 ps and 6
// workers on servers for 7 tasks, {2, 5} and {0, 1} transfers 2 parts, {1, 3} and {1, 3} three.
Transfers transfer_bound(std::span<const PsShare> shares);

}  // namespace muster
