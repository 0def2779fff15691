#pragma once

// How many workers each elastic job gets: Optimus' allocation by marginal gain (Peng et al.,
// EuroSys 2018). A scheduler calls it once a round with the jobs that are to share some GPUs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace muster {

struct ElasticJob {
  double remaining = 0;              // Work left, such as epochs; not negative.
  std::function<double(int)> speed;  // Work a second with so many workers, from least to most.
  int least = 1;                     // Workers without which the job does not run.
  int most = 1;
  int cost = 1;         // GPUs of one worker, at least 1.
  double priority = 1;  // Times the gain. Optimus gives 0.95 to a job just begun, since its
                        // estimate is not to be trusted yet.
  // Optimus counts a change of workers as free. Where it is not: the workers a running job has, and
  // the seconds it loses by getting any other number. None held: nothing is lost.
  int held = 0;
  double restart = 0;
};

// Workers for each job, in the order of the jobs; `cost` times workers sum to `gpus` at most. First
// every job gets its least, in order; one whose least is more than what is left gets nothing, and
// the next is tried. Then one worker at a time goes where it gains most:
//
//   gain = priority * (remaining / speed(w) - remaining / speed(w + 1)) / cost
//
// ties to the earlier job, until no gain is above zero or no next worker fits. A speed of zero (or
// one that is no number) means that the work would never end.
//
// With a restart time, every number but the one held counts as that much longer; and since one
// worker seldom makes up for it, those up to the number held, and the first ones beyond it, are
// also weighed together, by what each of them gains on average. So a worker changes hands only
// where it saves more than what both jobs lose.
//
// Without, each speed is asked for once, and the time is O(workers given * log jobs).
std::vector<int> allocate_by_gain(std::span<const ElasticJob> jobs, std::int64_t gpus);

// What jobs may still be given, where that is not one number for all: pools, quotas.
struct Purse {
  std::function<std::int64_t(std::size_t)> left;        // GPUs for this job. Only falls, by take().
  std::function<void(std::size_t, std::int64_t)> take;  // So many GPUs, not more than are left.
};

// The second half of it: jobs that have been given `workers` get more by gain. Those with none stay
// without.
void grow_by_gain(std::span<const ElasticJob> jobs, std::vector<int>& workers, const Purse& purse);

}  // namespace muster
