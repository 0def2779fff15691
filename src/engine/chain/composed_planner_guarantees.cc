// Plans with jobs that request CPU, memory or a spread, for which GPU counts are not enough.

#include <algorithm>
#include <utility>

#include "engine/chain/composed_planner.h"
#include "engine/core/guaranteed_ledger.h"

namespace muster {

bool ComposedPlanner::anyone_particular(const View& view) const {
  return std::any_of(classes_.begin(), classes_.end(),
                     [](const DemandClass& demand_class) {
                       return demand_class.is_particular() && !demand_class.queue.empty();
                     }) ||
         std::any_of(view.placed().begin(), view.placed().end(),
                     [&](JobId job) { return view.spec(job).is_particular(); });
}

// Whether the jobs that got GPUs by count in this plan, and `another`, would all find a place if
// every other job held only its guaranteed minimum.
bool ComposedPlanner::all_have_place(const View& view, const Draft& draft,
                                     std::optional<JobId> another) const {
  GuaranteedLedger ledger(*cluster_, view, draft);
  const auto placed = [&](JobId job) { return ledger.place(*placer_, ask_for(view, job)); };
  return std::all_of(starts_.begin(), starts_.end(), placed) && (!another || placed(*another));
}

// Adaptive mechanisms find the places last. So a displaced job keeps its GPUs if the last start
// still finds a place.
void ComposedPlanner::keep_displaced(const View& view, Draft& draft,
                                     const std::vector<std::pair<JobId, Placement>>& displaced) {
  for (const auto& [job, held] : displaced) {
    if (!draft.start(job, held)) continue;
    if (!particular_ || all_have_place(view, draft, std::nullopt)) continue;
    draft.stop(job);
    if (tenancy_) tenancy_->refund(view.spec(job));
  }
}

}  // namespace muster
