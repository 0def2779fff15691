#include "study/compare/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/check.h"
#include "sim/results/waiting_summary.h"
#include "study/analyze/figures.h"
#include "study/compare/gains.h"
#include "study/compare/gantt.h"
#include "study/compare/side_by_side.h"
#include "workload/history/jobs_by_id.h"

namespace muster {

namespace {

constexpr double kSecondsAnHour = 3600;
constexpr std::size_t kMaxWithGains = 8;

using Runs = RunRefs;

bool finished_any(const RunFiles& run) { return run.number("finished") > 0; }

bool interrupted(const RunFiles& run) {
  const auto at = run.summary.find("partial");
  return at != run.summary.end() && at->is_boolean() && at->get<bool>();
}

// A time of finished jobs; empty if no job finished.
Cell hours(const RunFiles& run, const char* key) {
  if (!finished_any(run)) return {};
  return Number{run.number(key) / kSecondsAnHour, 2};
}

struct JobWindow {
  std::uint64_t first = 0, last = 0;
};

// The jobs in order of arrival that the run's statistics cover; nullopt if they cover all jobs.
std::optional<JobWindow> window_of(const RunFiles& run) {
  const auto at = run.summary.find("window");
  if (at == run.summary.end() || !at->is_array() || at->size() != 2) return std::nullopt;
  if (!(*at)[0].is_number_unsigned() || !(*at)[1].is_number_unsigned()) return std::nullopt;
  const JobWindow window{(*at)[0].get<std::uint64_t>(), (*at)[1].get<std::uint64_t>()};
  if (window.first >= window.last || window.last > run.history.jobs.size()) return std::nullopt;
  return window;
}

std::span<const PastJob> measured_jobs(const RunFiles& run) {
  const std::span<const PastJob> jobs(run.history.jobs);
  const std::optional<JobWindow> window = window_of(run);
  return window ? jobs.subspan(window->first, window->last - window->first) : jobs;
}

// Completion and waiting times of finished jobs.
struct Times {
  Sample jct, wait;
  std::array<Sample, kSizes> jct_of_size;
};

// Time from submission to end of a finished job.
std::optional<Duration> took(const History& history, const PastJob& job) {
  if (job.status != Status::kPassed || job.attempt_count == 0) return std::nullopt;
  return history.attempts_of(job).back().end - job.submit;
}

Times times_of(const RunFiles& run) {
  std::vector<std::int64_t> jct;
  std::vector<std::int64_t> wait;
  std::array<std::vector<std::int64_t>, kSizes> of_size;
  for (const PastJob& job : measured_jobs(run)) {
    const std::optional<Duration> time = took(run.history, job);
    if (!time) continue;
    jct.push_back(time->us());
    wait.push_back((*time - job.run).us());
    if (job.gpus > 0) of_size[wait_size_of(job.gpus)].push_back(time->us());
  }
  Times times{Sample(std::move(jct)), Sample(std::move(wait)), {}};
  for (std::size_t i = 0; i < kSizes; ++i) times.jct_of_size[i] = Sample(std::move(of_size[i]));
  return times;
}

// Considers only runs that were not interrupted.
void add_best(Runs runs, const RunFiles& base, Section& section) {
  const RunFiles* best = nullptr;
  for (const RunFiles& run : runs) {
    if (!finished_any(run) || interrupted(run)) continue;
    if (best == nullptr || run.number("jct_mean_s") < best->number("jct_mean_s")) best = &run;
  }
  if (best == nullptr) {
    section.findings.emplace_back("No run is complete.");
    return;
  }
  const double mean = best->number("jct_mean_s") / kSecondsAnHour;
  const double of_base = base.number("jct_mean_s") / kSecondsAnHour;
  if (best == &base || mean <= 0 || of_base <= 0 || interrupted(base)) {
    section.findings.push_back(fmt::format("Jobs took {:.2f} h on average under {}{}.", mean,
                                           best->name,
                                           runs.size() > 1 ? ", less than in any other run" : ""));
    return;
  }
  section.findings.push_back(fmt::format(
      "Jobs finished earliest under {}: {:.2f} h on average, {:.2f} times as fast as under {}.",
      best->name, mean, of_base / mean, base.name));
}

// Adds findings that limit the comparison.
void warn(Runs runs, Section& section) {
  const auto differ = [&](const char* key) {
    return std::any_of(runs.begin(), runs.end(), [&](const RunFiles& run) {
      return run.text(key) != runs.front().get().text(key);
    });
  };
  for (const char* const key : {"trace", "cluster"}) {
    if (differ(key)) {
      section.findings.push_back(
          fmt::format("The runs differ in their {}, so gains between them mean little.", key));
    }
  }
  for (const RunFiles& run : runs) {
    if (interrupted(run)) {
      section.findings.push_back(fmt::format(
          "{} was interrupted: it includes only jobs that had ended by then.", run.name));
    }
    if (const std::optional<JobWindow> window = window_of(run)) {
      section.findings.push_back(
          fmt::format("The times of {} cover jobs {} to {} in order of arrival.", run.name,
                      window->first, window->last));
    }
  }
}

Section summary_section(Runs runs, std::size_t baseline) {
  Section section{"summary", "Comparison of the runs", {}, "", {}, {}, {}};
  PageTable table{
      "runs",
      "",
      {"run", "jobs", "finished", "mean JCT (h)", "gain", "p50 JCT (h)", "p95 JCT (h)",
       "p99 JCT (h)", "mean wait (h)", "makespan (h)", "GPU use (%)", "preemptions", "migrations"},
      {}};
  const RunFiles& base = runs[baseline];
  for (const RunFiles& run : runs) {
    const auto count = [&](const char* key) { return run.count(key); };
    table.rows.push_back({run.name, count("jobs"), count("finished"), hours(run, "jct_mean_s"),
                          gain_cell(base.number("jct_mean_s"), run.number("jct_mean_s")),
                          hours(run, "jct_p50_s"), hours(run, "jct_p95_s"), hours(run, "jct_p99_s"),
                          hours(run, "wait_mean_s"), hours(run, "makespan_s"),
                          Number{100 * run.number("gpu_utilization"), 1}, count("preemptions"),
                          count("migrations")});
  }
  section.tables.push_back(std::move(table));
  add_best(runs, base, section);
  if (runs.size() > 1) {
    section.findings.push_back(
        fmt::format("A gain of 2.00 means half the mean completion time of {}.", base.name));
  }
  warn(runs, section);
  return section;
}

std::vector<RunTimes> times_by_name(Runs runs, const std::vector<Times>& times) {
  std::vector<RunTimes> named;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    named.push_back({runs[i].get().name, &times[i].jct, &times[i].wait});
  }
  return named;
}

Section size_section(Runs runs, const std::vector<Times>& times) {
  Section section{"sizes", "By number of GPUs", {}, "", {}, {}, {}};
  PageTable table{"jct-by-size", "Mean completion time (h)", {"run"}, {}};
  Plot plot;
  plot.key = "jct-by-size-bars";
  plot.title = "Mean completion time by size";
  plot.x_label = "GPUs";
  plot.y_label = "hours";
  plot.kind = Plot::Kind::kBars;
  for (const std::string_view size : kWaitSizes) {
    table.columns.push_back(fmt::format("{} GPU{}", size, size == "1" ? "" : "s"));
    plot.categories.emplace_back(size);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<Cell> row = {runs[i].get().name};
    Series series{runs[i].get().name, {}, {}};
    for (const Sample& sample : times[i].jct_of_size) {
      row.push_back(mean_cell(sample, kHour));
      series.y.push_back(sample.empty() ? std::numeric_limits<double>::quiet_NaN()
                                        : sample.mean() / kHour);
    }
    table.rows.push_back(std::move(row));
    plot.series.push_back(std::move(series));
  }
  section.tables.push_back(std::move(table));
  section.plots.push_back(std::move(plot));
  return section;
}

// Only for runs of one workload, which have the same jobs, and only for a few runs.
void add_gains(Runs runs, std::size_t baseline, Page& page) {
  if (runs.size() > kMaxWithGains) return;
  const RunFiles& base = runs[baseline];
  const JobsById jobs(base.history);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const History& history = runs[i].get().history;
    if (i == baseline || runs[i].get().text("trace") != base.text("trace")) continue;
    std::vector<JobGain> gains;
    for (const PastJob& job : measured_jobs(runs[i])) {
      const std::string& id = history.ids[job.id];
      const std::optional<std::uint32_t> before = jobs.find(id);
      const std::optional<Duration> after = took(history, job);
      if (!before || !after) continue;
      const std::optional<Duration> then = took(base.history, base.history.jobs[*before]);
      if (!then) continue;
      gains.push_back(
          {id, history.users[job.user], history.tenants[job.tenant], job.gpus, *then, *after});
    }
    page.sections.push_back(
        gains_section(std::move(gains), {std::to_string(i + 1), base.name, runs[i].get().name}));
  }
}

std::vector<RunSteps> steps_by_name(Runs runs) {
  std::vector<RunSteps> named;
  for (const RunFiles& run : runs) named.push_back({run.name, &run.busy, &run.waiting});
  return named;
}

// Returns nullopt if no run could have failures.
std::optional<Section> failure_section(Runs runs) {
  Section section{"failures", "Failures", {}, "", {}, {}, {}};
  PageTable table{"failures",
                  "",
                  {"run", "failed jobs", "failed attempts", "GPU hours lost", "caught in pre-run",
                   "server outages"},
                  {}};
  for (const RunFiles& run : runs) {
    const auto at = run.summary.find("failures");
    if (at == run.summary.end() || !at->is_object()) continue;
    const auto of = [&](const char* key) {
      const auto value = at->find(key);
      return value != at->end() && value->is_number() ? value->get<double>() : 0.0;
    };
    const auto count = [&](const char* key) { return count_in(*at, key); };
    table.rows.push_back({run.name, run.count("failed"), count("attempts"),
                          Number{of("lost_gpu_hours"), 1}, count("caught_in_pre_run"),
                          count("outages")});
  }
  if (table.rows.empty()) return std::nullopt;
  section.tables.push_back(std::move(table));
  return section;
}

Section gpu_section(Runs runs, const RunPageOptions& options) {
  Section section{"gpus", "Jobs on each GPU", {}, "", {}, {}, {}};
  const Stretch window = options.window ? *options.window : stretch_for(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    section.gantts.push_back(gantt_of(runs[i], fmt::format("gantt-{}", i + 1), window));
  }
  section.findings.emplace_back(
      "Each row is a GPU, each bar a job that holds it. Zoom with the mouse wheel; drag to move.");
  return section;
}

Section source_section(Runs runs) {
  Section section{"sources", "Sources", {}, "", {}, {}, {}};
  PageTable table{"sources",
                  "",
                  {"run", "scheduler", "trace", "cluster", "estimates", "seed", "events",
                   "decisions", "digest"},
                  {}};
  for (const RunFiles& run : runs) {
    std::string scheduler = run.text("scheduler");
    if (scheduler.empty()) {
      scheduler = fmt::format("{}, {}, {}", run.text("policy"), run.text("mechanism"),
                              run.text("placement"));
    }
    table.rows.push_back({run.name, scheduler, run.text("trace"), run.text("cluster"),
                          run.text("estimates"), run.count("seed"), run.count("events"),
                          run.count("decisions"), run.text("digest")});
  }
  section.tables.push_back(std::move(table));
  section.findings.emplace_back(
      "Equal digests mean equal decisions, on any machine and with any compiler.");
  return section;
}

void tell_sources(Runs runs, Page& page) {
  for (const RunFiles& run : runs) {
    page.facts.push_back(fmt::format("{}: {} of {} on {}", run.name,
                                     many(run.history.jobs.size(), "job"), run.text("trace"),
                                     run.text("cluster")));
    for (const std::string& note : run.history.notes) {
      page.notes.push_back(fmt::format("{}: {}", run.name, note));
    }
    const std::string command = run.text("command");
    const bool told =
        std::find(page.commands.begin(), page.commands.end(), command) != page.commands.end();
    if (!command.empty() && !told) page.commands.push_back(command);
  }
}

}  // namespace

Page run_page(RunRefs runs, const RunPageOptions& options) {
  MUSTER_CHECK(options.baseline < runs.size());
  Page page;
  page.title = runs.size() == 1 ? fmt::format("A simulated run: {}", runs[0].get().name)
                                : fmt::format("{} simulated runs", runs.size());
  std::vector<Times> times;
  times.reserve(runs.size());
  for (const RunFiles& run : runs) times.push_back(times_of(run));
  page.sections.push_back(summary_section(runs, options.baseline));
  page.sections.push_back(distribution_section(times_by_name(runs, times), kInHours));
  page.sections.push_back(size_section(runs, times));
  add_gains(runs, options.baseline, page);
  page.sections.push_back(time_section(steps_by_name(runs)));
  if (std::optional<Section> failures = failure_section(runs)) {
    page.sections.push_back(std::move(*failures));
  }
  if (options.gpus) page.sections.push_back(gpu_section(runs, options));
  page.sections.push_back(source_section(runs));
  tell_sources(runs, page);
  return page;
}

Page run_page(const std::vector<RunFiles>& runs, const RunPageOptions& options) {
  return run_page(RunRefs(refs_to(runs)), options);
}

}  // namespace muster
