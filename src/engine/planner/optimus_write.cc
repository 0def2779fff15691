// Optimus: places the GPUs of a round on nodes.

#include <algorithm>
#include <utility>

#include "base/types/check.h"
#include "engine/planner/optimus.h"
#include "engine/planner/optimus_place.h"

namespace muster {

// Places the job on the allocated number of GPUs, or on fewer. Returns the number placed.
std::int32_t Optimus::put(const View& view, Draft& draft, const Candidate& candidate) const {
  const Placement* held = draft.placement(candidate.job);
  const std::int32_t least = view.spec(candidate.job).fewest_gpus();
  Placement place;
  for (std::int32_t gpus = candidate.give; gpus >= least; --gpus) {
    if (held != nullptr && gpus == candidate.held) break;
    if (!place_evenly(*cluster_, draft.ledger(), gpus, candidate.pool,
                      held != nullptr ? *held : Placement(), place)) {
      continue;
    }
    const bool done = held != nullptr ? draft.replace(candidate.job, std::move(place))
                                      : draft.start(candidate.job, std::move(place));
    if (done) return gpus;
  }
  return held != nullptr ? candidate.held : 0;
}

// Jobs that release GPUs come first. Then jobs with few workers before jobs with many, as in
// Optimus: large jobs are harder to keep together but gain the least from it.
void Optimus::write(const View& view, Draft& draft) {
  std::vector<const Candidate*> order;
  for (const Candidate& each : candidates_) {
    if (each.held > 0 && (each.give == 0 || each.moves)) draft.stop(each.job);
    if (each.give > 0 && (each.moves || each.give != each.held)) order.push_back(&each);
  }
  const auto grows = [](const Candidate& each) { return each.moves || each.give > each.held; };
  std::sort(order.begin(), order.end(), [&](const Candidate* a, const Candidate* b) {
    if (grows(*a) != grows(*b)) return grows(*b);
    return a->give != b->give ? a->give < b->give : a->job < b->job;
  });
  for (const Candidate* each : order) {
    const std::int32_t got = put(view, draft, *each);
    charge(view.spec(each->job), got - each->give);
    if (each->held == 0 && got > 0) note_start(view, each->job);
  }
}

}  // namespace muster
