#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

constexpr std::array<std::int32_t, 4> kStudied = {1, 4, 8, 16};  // GPUs, as in the study.
struct Column {
  Status status;
  std::string_view name;
};
constexpr std::array<Column, 3> kColumns = {
    {{Status::kPassed, "passed"}, {Status::kKilled, "killed"}, {Status::kFailed, "failed"}}};

bool any(const UseCell&) { return true; }

Cell use_cell(double percent) {
  if (std::isnan(percent)) return {};
  return Number{percent, 1};
}

Cell idle_cell(const UseHistogram& use) {
  return share_cell(static_cast<double>(use.minutes[0]), static_cast<double>(use.count()));
}

Series use_series(std::string name, const UseHistogram& use) {
  Series series;
  series.name = std::move(name);
  const auto all = static_cast<double>(use.count());
  std::uint64_t upto = 0;
  for (std::size_t i = 0; i < kUseBins; ++i) {
    upto += use.minutes[i];
    series.x.push_back(static_cast<double>(i));
    series.y.push_back(100 * static_cast<double>(upto) / all);
  }
  return series;
}

Plot use_plot(std::string key, std::string title, std::string_view what,
              std::vector<Series> series) {
  Plot plot;
  plot.key = std::move(key);
  plot.title = std::move(title);
  plot.x_label = "utilization (%), rounded down";
  plot.y_label = fmt::format("{} minutes (%)", what);
  plot.kind = Plot::Kind::kSteps;
  plot.series = std::move(series);
  return plot;
}

// One figure per size and status: mean utilization, or share of idle minutes.
template <class Figure>
PageTable by_size_and_status(const UseStudy& use, std::string key, std::string title,
                             Figure figure) {
  PageTable table;
  table.key = std::move(key);
  table.title = std::move(title);
  table.columns = {"GPUs"};
  for (const Column& column : kColumns) table.columns.push_back(fmt::format("{} (%)", column.name));
  table.columns.emplace_back("all (%)");
  table.columns.emplace_back("GPU minutes");
  const auto add_row = [&](std::string name, auto of_size) {
    std::vector<Cell> row = {std::move(name)};
    for (const Column& column : kColumns) {
      row.push_back(figure(use.where(
          [&](const UseCell& cell) { return of_size(cell) && cell.status == column.status; })));
    }
    const UseHistogram all = use.where(of_size);
    row.push_back(figure(all));
    row.push_back(count_cell(all.count()));
    table.rows.push_back(std::move(row));
  };
  for (const std::int32_t gpus : kStudied) {
    add_row(fmt::format("{}", gpus), [&](const UseCell& cell) { return cell.gpus == gpus; });
  }
  add_row("all sizes", any);
  return table;
}

std::vector<Cell> spread_row(std::string name, const UseHistogram& use) {
  return {std::move(name),
          use_cell(use.mean()),
          use_cell(use.quantile(0.5)),
          use_cell(use.quantile(0.9)),
          use_cell(use.quantile(0.95)),
          idle_cell(use),
          count_cell(use.count())};
}

PageTable spread_table(std::string key, std::string title, std::string first,
                       std::string_view minutes) {
  PageTable table;
  table.key = std::move(key);
  table.title = std::move(title);
  table.columns = {std::move(first), "mean (%)",     "p50 (%)",           "p90 (%)",
                   "p95 (%)",        "below 1% (%)", std::string(minutes)};
  return table;
}

void add_sixteen(const UseStudy& use, Section& section) {
  std::map<std::int32_t, UseHistogram> by_nodes;
  for (const UseCell& cell : use.gpus) {
    if (cell.gpus == 16) by_nodes[cell.nodes].add(cell.use);
  }
  PageTable table = spread_table("use-of-16-by-servers", "Jobs with 16 GPUs by number of nodes",
                                 "servers", "GPU minutes");
  for (const auto& [nodes, histogram] : by_nodes) {
    if (histogram.count() == 0) continue;
    table.rows.push_back(spread_row(fmt::format("{}", nodes), histogram));
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

void add_dedicated(const UseStudy& use, Section& section) {
  const auto alone = [&](std::int32_t gpus, std::int32_t nodes) {
    return use.where([&](const UseCell& cell) {
      return cell.dedicated && cell.gpus == gpus && cell.nodes == nodes;
    });
  };
  const UseHistogram eight = alone(8, 1);
  const UseHistogram sixteen = alone(16, 2);
  if (eight.count() + sixteen.count() == 0) return;
  PageTable table = spread_table("use-of-dedicated", "Jobs on dedicated nodes", "GPUs and servers",
                                 "GPU minutes");
  std::vector<Series> series;
  const auto add = [&](std::string name, const UseHistogram& histogram) {
    if (histogram.count() > 0) series.push_back(use_series(name, histogram));
    table.rows.push_back(spread_row(std::move(name), histogram));
  };
  add("8 GPUs on 1 node", eight);
  add("16 GPUs on 2 nodes", sixteen);
  section.tables.push_back(std::move(table));
  section.plots.push_back(use_plot("use-of-dedicated-cdf", "GPU utilization on dedicated nodes",
                                   "GPU", std::move(series)));
  if (eight.count() == 0 || sixteen.count() == 0) return;
  section.findings.push_back(fmt::format(
      "On dedicated nodes, the GPU utilization of jobs with 8 GPUs on one node was {:.1f}%, "
      "and of jobs with 16 GPUs on two nodes {:.1f}%.",
      eight.mean(), sixteen.mean()));
}

// The placements of the study's test with two GPUs.
void add_pairs(const UseStudy& use, Section& section) {
  constexpr std::array<std::string_view, kPairRows> kRows = {
      "one node", "two nodes", "two nodes, next to other jobs",
      "two nodes, next to other spread jobs"};
  PageTable table = spread_table("use-of-2-by-neighbors", "Jobs with 2 GPUs by placement",
                                 "placement", "GPU minutes");
  for (std::size_t i = 0; i < kPairRows; ++i) {
    if (use.pairs[i].count() > 0)
      table.rows.push_back(spread_row(std::string(kRows[i]), use.pairs[i]));
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

void add_hosts(const UseStudy& use, Section& section) {
  if (use.cpu.count() + use.memory.count() == 0) return;
  PageTable table =
      spread_table("use-of-hosts", "CPUs and memory of nodes", "what", "server minutes");
  std::vector<Series> series;
  const auto add = [&](std::string name, const UseHistogram& histogram) {
    if (histogram.count() == 0) return;
    series.push_back(use_series(name, histogram));
    table.rows.push_back(spread_row(name, histogram));
    section.findings.push_back(fmt::format("The median {} utilization of nodes was {:.0f}%.", name,
                                           histogram.quantile(0.5)));
  };
  add("CPU", use.cpu);
  add("memory", use.memory);
  section.tables.push_back(std::move(table));
  section.plots.push_back(
      use_plot("use-of-hosts-cdf", "Utilization of CPUs and memory", "node", std::move(series)));
}

void add_gpus(const UseStudy& use, Section& section) {
  const UseHistogram all = use.where(any);
  if (all.count() == 0) {
    section.missing = "the utilization of GPUs that jobs held";
    return;
  }
  section.findings.push_back(fmt::format(
      "The mean utilization of GPUs that jobs held was {:.1f}%; {} of their minutes were below "
      "1%.",
      all.mean(), percent(static_cast<double>(all.minutes[0]), static_cast<double>(all.count()))));
  section.tables.push_back(
      by_size_and_status(use, "use-by-size", "Mean GPU utilization",
                         [](const UseHistogram& h) { return use_cell(h.mean()); }));
  section.tables.push_back(
      by_size_and_status(use, "idle-by-size", "GPU minutes below 1% utilization", idle_cell));
  std::vector<Series> sizes;
  for (const std::int32_t gpus : kStudied) {
    const UseHistogram of = use.where([&](const UseCell& cell) { return cell.gpus == gpus; });
    if (of.count() > 0)
      sizes.push_back(use_series(many(static_cast<std::size_t>(gpus), "GPU"), of));
  }
  std::vector<Series> statuses;
  for (const Column& column : kColumns) {
    const UseHistogram of =
        use.where([&](const UseCell& cell) { return cell.status == column.status; });
    if (of.count() > 0) statuses.push_back(use_series(std::string(column.name), of));
  }
  section.plots.push_back(
      use_plot("use-by-size-cdf", "GPU utilization by size", "GPU", std::move(sizes)));
  section.plots.push_back(
      use_plot("use-by-status-cdf", "GPU utilization by outcome", "GPU", std::move(statuses)));
  add_sixteen(use, section);
  add_dedicated(use, section);
  add_pairs(use, section);
}

// A reader who sees only one table or plot must also know that it is not measured.
void mark_as_model(Section& section) {
  section.findings.insert(
      section.findings.begin(),
      "The GPU utilization is a model, not measured: the means of the Philly study by number of "
      "GPUs and outcome, less on several nodes and next to other jobs.");
  for (PageTable& table : section.tables) table.title += " (model, not measured)";
  for (Plot& plot : section.plots) plot.title += " (model, not measured)";
  section.missing = "the measured utilization of GPUs, CPUs and memory";
}

// For histories that contain only the mean of each job.
void add_job_means(const StudyInput& asked, Section& section) {
  struct Sum {
    std::size_t jobs = 0;
    double use = 0, weighted = 0, gpu_us = 0;
  };
  std::array<Sum, kSizes + 1> sums;
  for (const StudyJob& job : asked.jobs) {
    const double use = static_cast<double>(asked.past(job).gpu_use);
    if (std::isnan(use)) continue;
    for (Sum* sum : {&sums[job.size], &sums[kSizes]}) {
      ++sum->jobs;
      sum->use += use;
      sum->weighted += use * static_cast<double>(job.gpu_us);
      sum->gpu_us += static_cast<double>(job.gpu_us);
    }
  }
  PageTable table;
  table.key = "use-by-size";
  table.title = "GPU utilization, from the mean of each job";
  table.columns = {"GPUs", "jobs", "mean of jobs (%)", "mean by GPU time (%)"};
  for (std::size_t i = 0; i <= kSizes; ++i) {
    table.rows.push_back({i < kSizes ? std::string(kWaitSizes[i]) : "all", count_cell(sums[i].jobs),
                          share_cell(sums[i].use, static_cast<double>(sums[i].jobs)),
                          share_cell(sums[i].weighted, sums[i].gpu_us)});
  }
  section.tables.push_back(std::move(table));
  const Sum& all = sums[kSizes];
  if (all.jobs == 0) {
    section.findings.emplace_back("No job has a known GPU utilization.");
    return;
  }
  section.findings.push_back(fmt::format("The mean GPU utilization of {} was {}.",
                                         many(all.jobs, "job"),
                                         percent(all.use, static_cast<double>(all.jobs))));
}

}  // namespace

void utilization(const StudyInput& asked, Section& section) {
  if (asked.use != nullptr) {
    add_gpus(*asked.use, section);
    add_hosts(*asked.use, section);
    if (asked.use->modeled) mark_as_model(section);
  } else if (asked.history.knows.use) {
    add_job_means(asked, section);
    section.missing = "the GPU utilization per minute; only the means of jobs are known";
  } else {
    section.missing = "the utilization of GPUs, CPUs and memory";
  }
}

}  // namespace muster
