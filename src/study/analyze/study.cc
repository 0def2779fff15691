#include "study/analyze/study.h"

#include <fmt/format.h>

#include <string_view>

#include "study/analyze/figures.h"
#include "study/analyze/sections.h"
#include "study/analyze/study_input.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

struct SectionEntry {
  std::string_view key;
  std::string_view title;
  void (*answer)(const StudyInput& asked, Section& section);
};
constexpr SectionEntry kSections[] = {
    {"overview", "The cluster and its jobs", overview},
    {"run-times", "Run times by number of GPUs", run_times},
    {"queueing", "Waiting times", queueing},
    {"wait-causes", "Fair-share and fragmentation delay", wait_causes},
    {"out-of-order", "Jobs that overtook older, larger ones", out_of_order},
    {"servers", "Nodes per job and waiting", nodes_and_waiting},
    {"utilisation", "Utilization of GPUs, CPUs and memory", utilization},
    {"outcomes", "Outcomes of jobs", outcomes},
    {"attempts", "Attempts and failures by number of GPUs", attempts_by_size},
    {"failures", "Failure reasons", failure_table},
    {"failure-costs", "Cost of failures and possible savings", failure_costs},
    {"last-epochs", "Benefit of the last training epochs", last_epochs},
    {"who-waited-for-whom", "GPU holders during waits", wait_attribution},
};

void add_notes(const StudyInput& asked, Page& page) {
  page.notes = asked.history.notes;
  if (asked.use != nullptr) {
    page.notes.insert(page.notes.end(), asked.use->notes.begin(), asked.use->notes.end());
  }
  add_note(page.notes, asked.without_gpus, "job",
           "without known GPUs: counted only in the overview");
  add_note(page.notes, asked.early_starts, "job",
           "started before submission: counted as not waiting");
  add_note(page.notes, asked.unknown_starts, "job",
           "with unknown first start: omitted from all waiting statistics");
  add_note(page.notes, asked.open_holds, "attempt",
           "without a known end: counted as holding no GPUs");
}

}  // namespace

Page study(const History& history, const UseStudy* use, const StudyOptions& options) {
  const StudyInput asked = ask(history, use, options);
  Page page;
  page.title = fmt::format("History of {}", history.source.empty() ? "a cluster" : history.source);
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
