#pragma once

// Packs two jobs on the same GPUs while there are more jobs than GPUs. The benefit is unknown in
// advance, so pairs are tried: at most one per slice, only pairs that fit into GPU memory, the pair
// with the lowest GPU utilization first. A pair pays if both together are faster than with
// time-slicing. Results are stored per pair of profiles: good pairs come first, bad ones are not
// retried.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/model/pairs.h"
#include "engine/planner/gandiva_floor.h"

namespace muster {

class GandivaPacks {
 public:
  // `pairs` determines which pairs fit; it must outlive this. nullptr: never pack.
  explicit GandivaPacks(const PairTable* pairs) : pairs_(pairs) {}

  // Ends trials that are due: keeps the packing or reverts it.
  void judge(PlanWriter pen, GandivaFloor& floor);

  // Starts a trial if one is due.
  void attempt(PlanWriter pen, GandivaFloor& floor);

  // Time of the next judge() or attempt() call; never() if there is none.
  Instant next(const GandivaFloor& floor) const;

 private:
  struct Trial {
    JobId first;
    JobId second;
    std::uint32_t id;
    Instant until;
    std::int32_t more;
  };
  // Lower profile, higher profile, GPUs.
  using Sort = std::tuple<ProfileId, ProfileId, std::int32_t>;
  // GPU utilization alone and job; sorts the lowest utilization first, then the oldest job.
  using Candidate = std::pair<double, JobId>;
  using BySize = std::map<std::int32_t, std::vector<Candidate>>;

  static Sort sort_of(PlanWriter pen, JobId a, JobId b, std::int32_t gpus);
  void judge_one(PlanWriter pen, GandivaFloor& floor, Trial& trial);
  BySize alone(PlanWriter pen, const GandivaFloor& floor);
  std::vector<Candidate> time_sliced(PlanWriter pen, const GandivaFloor& floor);
  // Whether the pair is worth a trial. `known` selects pairs that are known to pay, or untested
  // pairs.
  bool promises(PlanWriter pen, JobId job, JobId other, std::int32_t gpus, bool known) const;
  std::optional<JobId> partner(PlanWriter pen, const GandivaFloor& floor, JobId job,
                               const BySize& alone, bool known) const;
  bool try_pair(PlanWriter pen, GandivaFloor& floor, JobId job, JobId other);

  const PairTable* pairs_;
  std::vector<Trial> trials_;
  std::map<Sort, bool> pays_;
  Instant attempt_at_;      // Earliest time of the next attempt.
  std::uint64_t seen_ = 0;  // Version of the seats at the last attempt.
  bool again_ = false;      // At the last attempt, a candidate had not run long enough.
};

}  // namespace muster
