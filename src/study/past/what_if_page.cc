#include "study/past/what_if_page.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/terminal/table.h"
#include "base/text/text.h"
#include "engine/model/tenants.h"
#include "study/compare/gains.h"
#include "study/compare/side_by_side.h"

namespace muster {

namespace {

constexpr std::size_t kLongestName = 40;  // Maximum length in the title.

Number minutes(Duration duration) { return {duration.in_seconds() / 60, 2}; }

std::string answer(const WhatIfRun& happened, const WhatIfRun& same, const WhatIfRun& other) {
  if (other.summary.finished == 0) {
    return fmt::format("under {} no job would have finished", cut_text(other.name, kLongestName));
  }
  return fmt::format(
      "under {} the mean wait of {} job{} would have been {} instead of {}, both "
      "simulated; actual: {}",
      cut_text(other.name, kLongestName), other.summary.finished,
      other.summary.finished == 1 ? "" : "s", short_duration(other.summary.wait.mean),
      short_duration(same.summary.wait.mean), short_duration(happened.summary.wait.mean));
}

// Data of a run's result that its summary lacks.
struct Shown {
  explicit Shown(const SimResult& result) {
    std::vector<std::int64_t> jcts;
    std::vector<std::int64_t> waits;
    for (const JobOutcome& job : result.jobs) {
      if (job.fate != JobResult::kFinished) continue;
      jcts.push_back(job.jct().us());
      waits.push_back(job.wait().us());
    }
    jct = Sample(std::move(jcts));
    wait = Sample(std::move(waits));
    for (const TimelinePoint& point : result.timeline) {
      busy.push_back({point.at, point.busy_gpus});
      waiting.push_back({point.at, point.waiting});
    }
  }

  Sample jct, wait;
  std::vector<Step> busy, waiting;
};

// Gains are relative to the simulation of the own scheduler. The actual result has no gain.
std::vector<Cell> row_of(const WhatIfRun& run, const WhatIfRun* same) {
  const Summary& summary = run.summary;
  std::vector<Cell> row = {run.name, static_cast<std::int64_t>(summary.finished)};
  row.push_back(same == nullptr ? Cell()
                                : gain_cell(same->summary.jct.mean.in_seconds(),
                                            summary.jct.mean.in_seconds()));
  for (const Spread* spread : {&summary.jct, &summary.wait}) {
    for (const Duration value : {spread->mean, spread->p50, spread->p95}) {
      row.push_back(summary.finished > 0 ? Cell(minutes(value)) : Cell());
    }
  }
  row.push_back(Number{100 * summary.gpu_utilization, 1});
  row.push_back(static_cast<std::int64_t>(summary.preemptions));
  return row;
}

Section side_by_side(const WhatIfRun& happened, const WhatIfRun& same,
                     std::span<const WhatIfRun> others) {
  Section section{"what-if", "Actual and simulated results", {}, "", {}, {}, {}};
  PageTable table{"what-if",
                  "",
                  {"", "jobs", "gain", "mean JCT (min)", "median JCT", "p95 JCT", "mean wait (min)",
                   "median wait", "p95 wait", "GPU use (%)", "preemptions"},
                  {}};
  table.rows.push_back(row_of(happened, nullptr));
  table.rows.push_back(row_of(same, &same));
  for (const WhatIfRun& other : others) table.rows.push_back(row_of(other, &same));
  section.tables.push_back(std::move(table));
  for (const WhatIfRun& other : others.subspan(1)) {
    section.findings.push_back("Also, " + answer(happened, same, other) + ".");
  }
  section.findings.push_back(fmt::format(
      "Both values are simulated. Under the own scheduler the simulated mean wait is "
      "{} and the mean completion time {}; the actual values are {} and {}.",
      short_duration(same.summary.wait.mean), short_duration(same.summary.jct.mean),
      short_duration(happened.summary.wait.mean), short_duration(happened.summary.jct.mean)));
  section.findings.push_back(
      fmt::format("A gain of 2.00 means half the mean completion time of {}.", same.name));
  for (const WhatIfRun& other : others) {
    if (other.summary.rejected == 0) continue;
    section.findings.push_back(fmt::format("Under {} {} jobs could never run: {}", other.name,
                                           other.summary.rejected, other.summary.first_rejection));
  }
  return section;
}

std::vector<JobGain> gains_between(const Trace& trace, const SimResult& before,
                                   const SimResult& after) {
  std::vector<JobGain> gains;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const JobOutcome& then = before.jobs[i];
    const JobOutcome& now = after.jobs[i];
    if (then.fate != JobResult::kFinished || now.fate != JobResult::kFinished) continue;
    const TraceJob& job = trace.jobs[i];
    gains.push_back({job.id, trace.users[job.user],
                     std::string(tenant_or_default(trace.tenants[job.tenant])), job.gpus,
                     then.jct(), now.jct()});
  }
  return gains;
}

}  // namespace

Page what_if_page(const Workload& workload, const WhatIfRun& happened, const WhatIfRun& same,
                  std::span<const WhatIfRun> others) {
  Page page;
  page.title = answer(happened, same, others.front());
  page.facts.push_back(
      fmt::format("{} jobs of {}", workload.trace.jobs.size(), workload.trace.source));
  page.sections.push_back(side_by_side(happened, same, others));
  std::vector<const WhatIfRun*> runs = {&happened, &same};
  for (const WhatIfRun& other : others) runs.push_back(&other);
  std::vector<Shown> shown;
  shown.reserve(runs.size());
  std::vector<RunTimes> times;
  std::vector<RunSteps> steps;
  for (const WhatIfRun* run : runs) {
    const Shown& one = shown.emplace_back(*run->result);
    times.push_back({run->name, &one.jct, &one.wait});
    steps.push_back({run->name, &one.busy, &one.waiting});
  }
  page.sections.push_back(distribution_section(times, kInMinutes));
  for (std::size_t i = 0; i < others.size(); ++i) {
    page.sections.push_back(
        gains_section(gains_between(workload.trace, *same.result, *others[i].result),
                      {std::to_string(i + 1), same.name, others[i].name}));
  }
  page.sections.push_back(time_section(steps));
  page.notes = workload.trace.notes;
  return page;
}

}  // namespace muster
