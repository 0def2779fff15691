#include "analyze/study.h"

#include <fmt/format.h>

#include "analyze/asked.h"
#include "analyze/figures.h"
#include "analyze/sections.h"
#include "history/notes.h"

namespace muster {

namespace {

void add_notes(const Asked& asked, Page& page) {
  page.notes = asked.history.notes;
  if (asked.use != nullptr) {
    page.notes.insert(page.notes.end(), asked.use->notes.begin(), asked.use->notes.end());
  }
  add_note(page.notes, asked.without_gpus, "job",
           "without known GPUs: counted in the overview, left out of all else");
  add_note(page.notes, asked.early_starts, "job", "started before submission: taken as no waiting");
  add_note(page.notes, asked.unknown_starts, "job",
           "whose first start is not told: left out of all about waiting");
  add_note(page.notes, asked.open_holds, "attempt",
           "without a known end: taken as holding no GPUs");
}

}  // namespace

Page study(const History& history, const UseStudy* use, const StudyOptions& options) {
  const Asked asked = ask(history, use, options);
  Page page;
  page.title = fmt::format("The past of {}", history.source.empty() ? "a cluster" : history.source);
  page.facts.push_back(fmt::format("{}{}{}", many(history.jobs.size(), "job"),
                                   history.source.empty() ? "" : " of " + history.source,
                                   history.format.empty() ? "" : " (" + history.format + ")"));
  page.sections = {overview(asked),           run_times(asked),     queueing(asked),
                   wait_causes(asked),        out_of_order(asked),  servers_and_waiting(asked),
                   utilisation(asked),        outcomes(asked),      attempts_by_size(asked),
                   failure_table(asked),      failure_costs(asked), last_epochs(asked),
                   who_waited_for_whom(asked)};
  add_notes(asked, page);
  return page;
}

}  // namespace muster
