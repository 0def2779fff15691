#include "study/reproduce/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "study/reproduce/claim_verdict.h"

namespace muster {

namespace {

Cell figure(double value, const Claim& claim) {
  if (!std::isfinite(value)) return std::monostate{};
  const std::string number = fmt::format("{:.{}f}", value, claim.decimals);
  return claim.unit.empty()
             ? number
             : number + (claim.unit == "x" || claim.unit == "%" ? "" : " ") + claim.unit;
}

class PageMaker {
 public:
  ResultsPage make(const std::vector<ExperimentResult>& results) {
    made_.page.title = "Published claims and Muster's results";
    for (const ExperimentResult& result : results) add(result);
    const ResultCounts& counts = made_.counts;
    made_.page.facts.push_back(fmt::format(
        "{} claims reproduced, {} in direction only, {} not reproduced, {} not run",
        counts.reproduced, counts.direction_only, counts.not_reproduced, counts.not_run));
    return std::move(made_);
  }

 private:
  Section& section_of(const Experiment& experiment) {
    std::vector<Section>& sections = made_.page.sections;
    const auto found = std::ranges::find(sections, experiment.paper, &Section::key);
    if (found != sections.end()) return *found;
    Section& section = sections.emplace_back();
    section.key = experiment.paper;
    section.title = experiment.paper;
    section.title[0] =
        static_cast<char>(std::toupper(static_cast<unsigned char>(section.title[0])));
    return section;
  }

  void add(const ExperimentResult& result) {
    const Experiment& experiment = *result.experiment;
    Section& section = section_of(experiment);
    for (const std::string& sentence : experiment.about) {
      section.findings.push_back(experiment.title + ": " + sentence);
    }
    PageTable table;
    table.key = "claims-" + experiment.name;
    table.title = experiment.title;
    table.columns = {"claim", "source", "published", "Muster", "ratio", "verdict"};
    for (const Claim& claim : experiment.claims) table.rows.push_back(row(claim, result));
    section.tables.push_back(std::move(table));
    for (const std::string& command : result.commands) made_.page.commands.push_back(command);
    if (!result.not_run.empty()) return;
    for (const ExperimentPlot& plot : experiment.plots) {
      section.plots.push_back(plot_of(plot, experiment, result.runs));
    }
  }

  std::vector<Cell> row(const Claim& claim, const ExperimentResult& result) {
    std::vector<Cell> cells = {claim.text, claim.source, std::monostate{}, std::monostate{},
                               std::monostate{}};
    if (claim.published) cells[2] = figure(*claim.published, claim);
    if (!result.not_run.empty()) {
      ++made_.counts.not_run;
      if (result.failed) ++made_.counts.unexplained;
      cells.emplace_back("not run: " + result.not_run);
      return cells;
    }
    const Result<double> ours = evaluate(claim.value, result.runs);
    if (!ours.ok()) {
      ++made_.counts.not_reproduced;
      ++made_.counts.unexplained;
      cells.emplace_back("not reproduced: " + ours.error().message);
      return cells;
    }
    cells[3] = figure(ours.value(), claim);
    if (claim.published && *claim.published != 0) {
      cells[4] = Number{ours.value() / *claim.published, 2};
    }
    const ClaimVerdict verdict = judge(claim, ours.value());
    count(verdict, claim);
    cells.emplace_back(verdict.text);
    return cells;
  }

  void count(const ClaimVerdict& verdict, const Claim& claim) {
    ResultCounts& counts = made_.counts;
    switch (verdict.kind) {
      case ClaimVerdict::Kind::kReproduced:
        ++counts.reproduced;
        return;
      case ClaimVerdict::Kind::kDirectionOnly:
        ++counts.direction_only;
        break;
      case ClaimVerdict::Kind::kNotReproduced:
        ++counts.not_reproduced;
        break;
    }
    if (claim.why.empty()) ++counts.unexplained;
  }

  static Plot plot_of(const ExperimentPlot& stated, const Experiment& experiment,
                      const RunResults& runs) {
    Plot plot;
    plot.key = stated.key;
    plot.title = stated.title;
    plot.x_label = stated.x_label;
    plot.y_label = stated.y_label;
    plot.kind = stated.bars ? Plot::Kind::kBars : Plot::Kind::kLine;
    plot.categories = stated.categories;
    const auto value_of = [&](const std::string& text) {
      const Result<double> value = evaluate(text, runs);
      return value.ok() ? value.value() : std::numeric_limits<double>::quiet_NaN();
    };
    for (const auto& [name, expressions] : stated.series) {
      Series& series = plot.series.emplace_back();
      series.name = name;
      if (stated.bars) {
        for (const std::string& text : expressions) series.y.push_back(value_of(text));
        continue;
      }
      for (const std::string& x : experiment.over) {
        const Result<double> number = parse_number(x);
        if (!number.ok()) continue;
        series.x.push_back(number.value());
        series.y.push_back(value_of(substituted(expressions.front(), "x", run_suffix(x))));
      }
    }
    return plot;
  }

  ResultsPage made_;
};

}  // namespace

ResultsPage results_page(const std::vector<ExperimentResult>& results) {
  return PageMaker().make(results);
}

}  // namespace muster
