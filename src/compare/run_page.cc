#include "compare/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "analyze/figures.h"
#include "base/check.h"
#include "compare/gantt.h"
#include "report/waiting.h"

namespace muster {

namespace {

constexpr double kSecondsAnHour = 3600;

using Runs = std::span<const RunFiles>;

Number hours(const RunFiles& run, const char* key) { return {run.number(key) / kSecondsAnHour, 2}; }

// How many times as quick as the baseline; nothing where either has nothing.
Cell gain(const RunFiles& base, const RunFiles& run, const char* key) {
  if (run.number(key) <= 0 || base.number(key) <= 0) return {};
  return Number{base.number(key) / run.number(key), 2};
}

// Completion and waiting of those that finished.
struct Times {
  Sample jct, wait;
  std::array<Sample, kSizes> jct_of_size;
};

Times times_of(const RunFiles& run) {
  std::vector<std::int64_t> jct;
  std::vector<std::int64_t> wait;
  std::array<std::vector<std::int64_t>, kSizes> of_size;
  for (const PastJob& job : run.history.jobs) {
    if (job.status != Status::kPassed || job.attempt_count == 0) continue;
    const Duration took = run.history.attempts_of(job).back().end - job.submit;
    jct.push_back(took.us());
    wait.push_back((took - job.run).us());
    if (job.gpus > 0) of_size[size_of(job.gpus)].push_back(took.us());
  }
  Times times{Sample(std::move(jct)), Sample(std::move(wait)), {}};
  for (std::size_t i = 0; i < kSizes; ++i) times.jct_of_size[i] = Sample(std::move(of_size[i]));
  return times;
}

Section summary_section(Runs runs, std::size_t baseline) {
  Section section{"summary", "The runs side by side", {}, "", {}, {}, {}};
  PageTable table{
      "runs",
      "",
      {"run", "jobs", "finished", "mean JCT (h)", "gain", "p50 JCT (h)", "p95 JCT (h)",
       "p99 JCT (h)", "mean wait (h)", "makespan (h)", "GPU use (%)", "preemptions", "migrations"},
      {}};
  const RunFiles& base = runs[baseline];
  for (const RunFiles& run : runs) {
    const auto count = [&](const char* key) {
      return Cell(static_cast<std::int64_t>(run.number(key)));
    };
    table.rows.push_back({run.name, count("jobs"), count("finished"), hours(run, "jct_mean_s"),
                          gain(base, run, "jct_mean_s"), hours(run, "jct_p50_s"),
                          hours(run, "jct_p95_s"), hours(run, "jct_p99_s"),
                          hours(run, "wait_mean_s"), hours(run, "makespan_s"),
                          Number{100 * run.number("gpu_utilization"), 1}, count("preemptions"),
                          count("migrations")});
  }
  section.tables.push_back(std::move(table));
  const auto quicker = [](const RunFiles& a, const RunFiles& b) {
    return a.number("jct_mean_s") < b.number("jct_mean_s");
  };
  const RunFiles& best = *std::min_element(runs.begin(), runs.end(), quicker);
  section.findings.push_back(fmt::format("Jobs took {:.2f} h on average under {}.",
                                         hours(best, "jct_mean_s").value, best.name));
  if (&best != &base && best.number("jct_mean_s") > 0) {
    section.findings.back() = fmt::format(
        "Jobs were done soonest under {}: {:.2f} h on average, {:.2f} times as quick as under {}.",
        best.name, hours(best, "jct_mean_s").value,
        base.number("jct_mean_s") / best.number("jct_mean_s"), base.name);
  }
  if (runs.size() > 1) {
    section.findings.push_back(
        fmt::format("A gain of 2.00 means half the mean completion time of {}.", base.name));
  }
  return section;
}

Section distribution_section(Runs runs, const std::vector<Times>& times) {
  Section section{"distributions", "Completion and waiting", {}, "", {}, {}, {}};
  std::vector<NamedSample> jct;
  std::vector<NamedSample> wait;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    jct.push_back({runs[i].name, &times[i].jct});
    wait.push_back({runs[i].name, &times[i].wait});
  }
  section.plots.push_back(
      cdf_plot({"jct-cdf", "Completion time: submission to end", "hours"}, jct, kHour, 0.01));
  section.plots.push_back(
      cdf_plot({"wait-cdf", "Waiting: the part of it without GPUs", "hours"}, wait, kHour, 0.01));
  section.findings.emplace_back(
      "Of jobs that finished; a point says what part took at most so long.");
  return section;
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
    table.columns.push_back(fmt::format("{} GPU", size));
    plot.categories.emplace_back(size);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<Cell> row = {runs[i].name};
    Series series{runs[i].name, {}, {}};
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

Section time_section(Runs runs) {
  Section section{"over-time", "The cluster over time", {}, "", {}, {}, {}};
  const auto plot_of = [&](const char* key, const char* title, const char* y_label,
                           std::vector<Step> RunFiles::*steps) {
    Plot plot;
    plot.key = key;
    plot.title = title;
    plot.x_label = "time";
    plot.y_label = y_label;
    plot.kind = Plot::Kind::kSteps;
    plot.scale = Plot::Scale::kTime;
    for (const RunFiles& run : runs) {
      const std::vector<Step>& level = run.*steps;
      if (level.empty()) continue;
      plot.series.push_back(
          steps_series(run.name, level, Instant(), level.back().at, plot.thinned));
    }
    section.plots.push_back(std::move(plot));
  };
  plot_of("busy-gpus", "GPUs in use", "GPUs", &RunFiles::busy);
  plot_of("waiting-jobs", "Jobs waiting", "jobs", &RunFiles::waiting);
  return section;
}

// Nothing of runs in which nothing could fail.
std::optional<Section> failure_section(Runs runs) {
  Section section{"failures", "What failed", {}, "", {}, {}, {}};
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
    const auto count = [&](const char* key) { return Cell(static_cast<std::int64_t>(of(key))); };
    table.rows.push_back({run.name, static_cast<std::int64_t>(run.number("failed")),
                          count("attempts"), Number{of("lost_gpu_hours"), 1},
                          count("caught_in_pre_run"), count("outages")});
  }
  if (table.rows.empty()) return std::nullopt;
  section.tables.push_back(std::move(table));
  return section;
}

Section gpu_section(Runs runs, const RunPageOptions& options) {
  Section section{"gpus", "GPU by GPU", {}, "", {}, {}, {}};
  const Stretch window = options.window ? *options.window : stretch_for(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    section.gantts.push_back(gantt_of(runs[i], fmt::format("gantt-{}", i + 1), window));
  }
  section.findings.emplace_back(
      "A row is a GPU, a bar a job that holds it. Zoom with the wheel, move by dragging.");
  return section;
}

Section source_section(Runs runs) {
  Section section{"sources", "Where it comes from", {}, "", {}, {}, {}};
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
                          run.text("estimates"), static_cast<std::int64_t>(run.number("seed")),
                          static_cast<std::int64_t>(run.number("events")),
                          static_cast<std::int64_t>(run.number("decisions")), run.text("digest")});
  }
  section.tables.push_back(std::move(table));
  section.findings.emplace_back(
      "Equal digests mean equal decisions, whatever machine or compiler they were made on.");
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

Page run_page(std::span<const RunFiles> runs, const RunPageOptions& options) {
  MUSTER_CHECK(options.baseline < runs.size());
  Page page;
  page.title = runs.size() == 1 ? fmt::format("A simulated run: {}", runs[0].name)
                                : fmt::format("{} simulated runs", runs.size());
  std::vector<Times> times;
  times.reserve(runs.size());
  for (const RunFiles& run : runs) times.push_back(times_of(run));
  page.sections.push_back(summary_section(runs, options.baseline));
  page.sections.push_back(distribution_section(runs, times));
  page.sections.push_back(size_section(runs, times));
  page.sections.push_back(time_section(runs));
  if (std::optional<Section> failures = failure_section(runs)) {
    page.sections.push_back(std::move(*failures));
  }
  page.sections.push_back(gpu_section(runs, options));
  page.sections.push_back(source_section(runs));
  tell_sources(runs, page);
  return page;
}

}  // namespace muster
