#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "engine/fit/loss_curve.h"
#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

// The study asked when the loss was within 0.1% of its best. Jobs that end when they converge by
// Optimus' rule never get so close to the end of their curve. So this analysis asks when most of
// the decrease was done.
constexpr double kMax = 0.9;
constexpr double kNearlyAll = 0.99;

struct Passes {
  double all = 0;     // Until the loss converges by Optimus' rule, as in the simulator.
  double most = 0;    // The first training epoch after which 90% of the decrease is done,
  double nearly = 0;  // and 99% of it.
};

std::optional<Passes> passes_of(const LossFacts& facts) {
  if (facts.b0 <= 0) return std::nullopt;
  const LossCurve curve = exact_loss_curve(facts.b0, facts.b1, facts.b2);
  Passes passes;
  passes.all = std::max(1.0, std::ceil(remaining_epochs(curve, 0)));
  const double fall = curve.at(0) - curve.at(passes.all);
  const auto first_with = [&](double part) {
    double pass = 1;
    while (pass < passes.all && curve.at(0) - curve.at(pass) < part * fall) ++pass;
    return pass;
  };
  passes.most = first_with(kMax);
  passes.nearly = first_with(kNearlyAll);
  return passes;
}

struct EpochTally {
  std::size_t jobs = 0;
  double most = 0;  // Share of the training epochs, summed over jobs.
  double nearly = 0;
  double gpu_us = 0;
  double late_gpu_us = 0;  // For the last 1% of the decrease.

  void add(const Passes& passes, double time) {
    ++jobs;
    most += passes.most / passes.all;
    nearly += passes.nearly / passes.all;
    gpu_us += time;
    late_gpu_us += time * (1 - passes.nearly / passes.all);
  }
};

struct Model {
  std::string name;
  std::optional<Passes> passes;
  std::size_t jobs = 0;
};

// Indexed by number in History::models. Models without a curve have no value.
std::vector<Model> models_of(const StudyInput& asked) {
  const ProfileTable& profiles = *asked.options.profiles;
  std::vector<Model> models(asked.history.models.size());
  for (std::uint32_t i = 0; i < models.size(); ++i) {
    models[i].name = asked.history.models[i];
    const ProfileId profile = profiles.find(models[i].name);
    if (!profiles[profile].states_loss()) continue;
    models[i].passes = passes_of(*profiles[profile].loss());
  }
  return models;
}

PageTable models_table(const std::vector<Model>& models) {
  PageTable table;
  table.key = "last-epochs-by-model";
  table.title = "By model";
  table.columns = {"model", "jobs", "passes", "until 90% of the fall (%)", "until 99% (%)"};
  std::map<std::string, const Model*> by_name;
  for (const Model& model : models) {
    if (model.jobs > 0) by_name.emplace(model.name, &model);
  }
  for (const auto& [name, model] : by_name) {
    const Passes& passes = *model->passes;
    table.rows.push_back({name, count_cell(model->jobs), Number{passes.all, 0},
                          share_cell(passes.most, passes.all),
                          share_cell(passes.nearly, passes.all)});
  }
  return table;
}

void say(const EpochTally& all, std::size_t without, Section& section) {
  if (all.jobs == 0) {
    section.missing = "loss curves: no job has a model with a loss curve in its profile";
    return;
  }
  section.findings.push_back(fmt::format(
      "According to the profiles, {} reached 90% of the decrease of the loss after {} of the "
      "training epochs on average, and 99% after {}. The last 1% took {} of the GPU time.",
      many(all.jobs, "job"), percent(all.most, static_cast<double>(all.jobs)),
      percent(all.nearly, static_cast<double>(all.jobs)), percent(all.late_gpu_us, all.gpu_us)));
  section.missing =
      "the losses; they are taken from the profiles of the models, as if every job had trained "
      "until its loss converged";
  if (without > 0) {
    section.missing +=
        fmt::format(". Omitted: {} of models without a loss curve", many(without, "job"));
  }
}

}  // namespace

void last_epochs(const StudyInput& asked, Section& section) {
  if (asked.options.profiles == nullptr) {
    section.missing = "loss curves: neither the source nor a profile has any";
    return;
  }
  constexpr std::array<std::string_view, 4> kNames = {"passed", "killed", "failed", "not known"};
  std::array<EpochTally, kNames.size()> tallies;
  EpochTally all;
  std::vector<Model> models = models_of(asked);
  std::size_t without = 0;
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    Model& model = models[past.model];
    if (!model.passes) {
      ++without;
      continue;
    }
    ++model.jobs;
    const auto time = static_cast<double>(job.gpu_us);
    tallies[static_cast<std::size_t>(past.status)].add(*model.passes, time);
    all.add(*model.passes, time);
  }
  say(all, without, section);
  if (all.jobs == 0) return;
  PageTable table;
  table.key = "last-epochs";
  table.columns = {"outcome", "jobs", "passes until 90% of the fall (%)", "until 99% (%)",
                   "GPU time after that (%)"};
  const auto add_row = [&](std::string_view name, const EpochTally& of) {
    table.rows.push_back({std::string(name), count_cell(of.jobs),
                          share_cell(of.most, static_cast<double>(of.jobs)),
                          share_cell(of.nearly, static_cast<double>(of.jobs)),
                          share_cell(of.late_gpu_us, of.gpu_us)});
  };
  for (std::size_t i = 0; i < kNames.size(); ++i) add_row(kNames[i], tallies[i]);
  add_row("all", all);
  section.tables = {std::move(table), models_table(models)};
}

}  // namespace muster
