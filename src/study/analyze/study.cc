#include "study/analyze/study.h"

#include <fmt/format.h>

#include <string_view>

#include "study/analyze/asked.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

struct SectionEntry {
  std::string_view key;
  std::string_view title;
  void (*answer)(const Asked& asked, Section& section);
};
constexpr SectionEntry kSections[] = {
    {"overview", "The cluster and its jobs", overview},
    {"run-times", "How long jobs ran, by their GPUs", run_times},
    {"queueing", "How long jobs waited", queueing},
    {"wait-causes", "Fair-share against fragmentation delay", wait_causes},
    {"out-of-order", "Jobs that overtook older, larger ones", out_of_order},
    {"servers", "Servers of a job against its waiting", servers_and_waiting},
    {"utilisation", "How busy GPUs, CPUs and memory were", utilisation},
    {"outcomes", "How jobs ended", outcomes},
    {"attempts", "Attempts and failures by GPUs", attempts_by_size},
    {"failures", "What attempts failed of", failure_table},
    {"failure-costs", "What failures cost, and what would have spared it", failure_costs},
    {"last-epochs", "What the last epochs bought", last_epochs},
    {"who-waited-for-whom", "Who waited for whom", who_waited_for_whom},
};

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
  for (const SectionEntry& entry : kSections) {
    Section& section = page.sections.emplace_back();
    section.key = entry.key;
    section.title = entry.title;
    entry.answer(asked, section);
  }
  add_notes(asked, page);
  return page;
}

}  // namespace muster
