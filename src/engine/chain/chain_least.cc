// Chain where jobs ask for CPU, memory or a spread: what GPU counts alone do not tell.

#include <algorithm>
#include <utility>

#include "engine/chain/chain.h"
#include "engine/core/least_books.h"

namespace muster {

bool Chain::anyone_particular(const View& view) const {
  return std::any_of(
             shapes_.begin(), shapes_.end(),
             [](const Shape& shape) { return shape.is_particular() && !shape.queue.empty(); }) ||
         std::any_of(view.placed().begin(), view.placed().end(),
                     [&](JobId job) { return view.spec(job).is_particular(); });
}

// Whether those that were given GPUs by count in this plan, and one more, would all find a place if
// everybody else had no more than his right.
bool Chain::all_have_place(const View& view, const Draft& draft,
                           std::optional<JobId> another) const {
  LeastBooks books(*cluster_, view, draft);
  const auto placed = [&](JobId job) { return books.place(*placer_, ask_for(view, job)); };
  return std::all_of(starts_.begin(), starts_.end(), placed) && (!another || placed(*another));
}

// Adaptive mechanisms find the places last, so whoever was displaced for the last of the starts
// stays if that one still has a place beside it.
void Chain::keep_displaced(const View& view, Draft& draft,
                           const std::vector<std::pair<JobId, Placement>>& displaced) {
  for (const auto& [job, held] : displaced) {
    if (!draft.start(job, held)) continue;
    if (!particular_ || all_have_place(view, draft, std::nullopt)) continue;
    draft.stop(job);
    if (tenancy_) tenancy_->refund(view.spec(job));
  }
}

}  // namespace muster
