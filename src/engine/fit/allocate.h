#pragma once

// Optimus' allocation of workers to elastic jobs by marginal gain (Peng et al., EuroSys 2018). The
// Optimus planner calls it once per round with the jobs that share some GPUs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace muster {

struct ElasticJob {
  double remaining = 0;              // Remaining work, for example in epochs; not negative.
  std::function<double(int)> speed;  // Work per second with least to most workers.
  int least = 1;                     // Minimum number of workers.
  int most = 1;                      // Maximum number of workers.
  int cost = 1;                      // GPUs of one worker, at least 1.
  // Factor on the gain. Optimus uses 0.95 for a new job, because its estimate is still unreliable.
  double priority = 1;
  // Workers that a running job holds (0: none), and the seconds it loses if that number changes. In
  // Optimus a change is free (restart = 0).
  int held = 0;
  double restart = 0;
};

// Returns the number of workers per job; the sum of workers * cost is at most `gpus`. First each
// job gets its minimum, in order; a job whose minimum does not fit gets 0. Then the next worker
// goes repeatedly to the job with the largest gain, the earlier job in a tie:
//
//   gain = priority * (remaining / speed(w) - remaining / speed(w + 1)) / cost
//
// It stops when no gain is positive or no worker fits. A speed that is zero or not a number means
// that the job would never finish.
//
// If `restart` is set, every number of workers other than `held` takes that much longer. One worker
// rarely compensates for this. So the workers up to `held`, and several beyond it, are also
// compared as a group, by average gain. A worker moves only if it saves more time than both jobs
// lose.
//
// Without restart times, each speed is evaluated once and the cost is O(workers * log jobs).
std::vector<int> allocate_by_gain(std::span<const ElasticJob> jobs, std::int64_t gpus);

// Remaining GPUs per job, for callers with several pools or quotas.
struct GpuBudget {
  // GPUs still available to this job; only take() reduces it.
  std::function<std::int64_t(std::size_t)> left;
  std::function<void(std::size_t, std::int64_t)> take;  // Takes GPUs; at most left(job).
};

// The second phase of allocate_by_gain(): adds workers by gain to jobs that have some. Jobs with 0
// workers keep 0.
void grow_by_gain(std::span<const ElasticJob> jobs, std::vector<int>& workers,
                  const GpuBudget& budget);

}  // namespace muster
