#include "study/compare/side_by_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace muster {

namespace {

constexpr double kMinShown = 0.01;  // In the given unit, because logarithms have no zero.

}  // namespace

Section distribution_section(const std::vector<RunTimes>& runs, const TimeUnit& unit) {
  Section section{"distributions", "Completion and waiting", {}, "", {}, {}, {}};
  std::vector<NamedSample> jct;
  std::vector<NamedSample> wait;
  for (const RunTimes& run : runs) {
    jct.push_back({run.name, run.jct});
    wait.push_back({run.name, run.wait});
  }
  section.plots.push_back(cdf_plot({"jct-cdf", "Completion time: submission to end", unit.name},
                                   jct, unit.us, kMinShown));
  section.plots.push_back(cdf_plot({"wait-cdf", "Waiting: the part without GPUs", unit.name}, wait,
                                   unit.us, kMinShown));
  section.findings.emplace_back(
      "These cover finished jobs. Each point is the share of jobs that took at most this time.");
  return section;
}

Section time_section(const std::vector<RunSteps>& runs) {
  Section section{"over-time", "The cluster over time", {}, "", {}, {}, {}};
  const auto plot_of = [&](const char* key, const char* title, const char* y_label,
                           const std::vector<Step>* RunSteps::*steps) {
    Plot plot;
    plot.key = key;
    plot.title = title;
    plot.x_label = "time";
    plot.y_label = y_label;
    plot.kind = Plot::Kind::kSteps;
    plot.scale = Plot::Scale::kTime;
    Instant end;  // The same for all runs, so that they are thinned in the same way.
    for (const RunSteps& run : runs) {
      if (!(run.*steps)->empty()) end = std::max(end, (run.*steps)->back().at);
    }
    for (const RunSteps& run : runs) {
      std::string thinned;
      plot.series.push_back(steps_series(run.name, *(run.*steps), Instant(), end, thinned));
      if (!thinned.empty()) {
        plot.thinned +=
            fmt::format("{}{}: {}", plot.thinned.empty() ? "" : "; ", run.name, thinned);
      }
    }
    section.plots.push_back(std::move(plot));
  };
  plot_of("busy-gpus", "GPUs in use", "GPUs", &RunSteps::busy);
  plot_of("waiting-jobs", "Jobs waiting", "jobs", &RunSteps::waiting);
  return section;
}

Cell gain_cell(double before, double after) {
  if (before <= 0 || after <= 0) return {};
  return Number{before / after, 2};
}

}  // namespace muster
