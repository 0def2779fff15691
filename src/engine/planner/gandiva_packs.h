#pragma once

// Two jobs at the same time on one gang's GPUs, while there are too many jobs for one each. Nobody
// knows beforehand whether that pays, so it is tried: one pair a slice at most, of those that fit
// into the GPUs' memory, those that keep them least busy first. It pays if the two are together
// faster than one after the other would be. What pays is remembered by the sort of jobs: what did
// not is not tried again, what did comes first.

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
  // Null: never. Otherwise it must outlive this. Only asked which pairs fit.
  explicit GandivaPacks(const PairTable* pairs) : pairs_(pairs) {}

  // Keeps or undoes what was tried long enough.
  void judge(Pen pen, GandivaFloor& floor);

  // Begins to try a pair, if it is time to.
  void attempt(Pen pen, GandivaFloor& floor);

  // When there is something to judge, or to try.
  Instant next(const GandivaFloor& floor) const;

 private:
  struct Trial {
    JobId first;
    JobId second;
    std::uint32_t id;
    Instant until;
    std::int32_t more;
  };
  using Sort = std::tuple<ProfileId, ProfileId, std::int32_t>;  // The lower first; GPUs.
  // A job and how busy it keeps its GPUs alone: the least busy first, then the oldest.
  using Candidate = std::pair<double, JobId>;
  using BySize = std::map<std::int32_t, std::vector<Candidate>>;

  static Sort sort_of(Pen pen, JobId a, JobId b, std::int32_t gpus);
  void judge_one(Pen pen, GandivaFloor& floor, Trial& trial);
  BySize alone(Pen pen, const GandivaFloor& floor);
  std::vector<Candidate> in_turns(Pen pen, const GandivaFloor& floor);
  // Whether the two are worth a try: as a pair that is known to pay, or of which nothing is known.
  bool promises(Pen pen, JobId job, JobId other, std::int32_t gpus, bool known) const;
  std::optional<JobId> partner(Pen pen, const GandivaFloor& floor, JobId job, const BySize& alone,
                               bool known) const;
  bool try_pair(Pen pen, GandivaFloor& floor, JobId job, JobId other);

  const PairTable* pairs_;
  std::vector<Trial> trials_;
  std::map<Sort, bool> pays_;
  Instant attempt_at_;      // Not before.
  std::uint64_t seen_ = 0;  // Version of the seats at the last attempt.
  bool again_ = false;      // Somebody had not yet run long enough then.
};

}  // namespace muster
