#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "study/analyze/figures.h"
#include "study/analyze/sections.h"

namespace muster {

namespace {

// As in the study: a loss is close to the best loss of its job if it is at most 0.1% above it.
constexpr double kClose = 1.001;
constexpr double kEarly = 0.4;

// Shares of the training epochs, from 0 to 1.
struct LossShares {
  double close = 0;  // Until the first loss that is close to the best.
  double best = 0;   // Until the best loss.
};

// Returns nullopt for a formula: it has no plateau, so it is close to its best loss only at its
// end.
std::optional<LossShares> shares_of(const LossFacts& facts) {
  const std::vector<double>& losses = facts.points;
  if (losses.empty()) return std::nullopt;
  const auto best = std::ranges::min_element(losses);
  const auto close =
      std::ranges::find_if(losses, [&](double loss) { return loss <= kClose * *best; });
  const auto epochs = static_cast<double>(losses.size() - 1);
  return LossShares{static_cast<double>(close - losses.begin()) / epochs,
                    static_cast<double>(best - losses.begin()) / epochs};
}

struct EpochTally {
  std::size_t jobs = 0;
  std::size_t early = 0;    // Close to the best loss by 40% of the epochs.
  std::size_t to_last = 0;  // The best loss is that of the last epoch.
  double close = 0;         // Sum of shares.
  double gpu_us = 0;
  double late_gpu_us = 0;  // After the first loss that is close to the best.

  void add(const LossShares& shares, double time) {
    ++jobs;
    early += shares.close <= kEarly ? 1 : 0;
    to_last += shares.best == 1 ? 1 : 0;
    close += shares.close;
    gpu_us += time;
    late_gpu_us += time * (1 - shares.close);
  }
};

struct Model {
  std::string name;
  const LossFacts* loss = nullptr;
  std::optional<LossShares> shares;
  std::size_t jobs = 0;
};

// Indexed by number in History::models. Models without recorded losses have no shares.
std::vector<Model> models_of(const StudyInput& asked) {
  const ProfileTable& profiles = *asked.options.profiles;
  std::vector<Model> models(asked.history.models.size());
  for (std::uint32_t i = 0; i < models.size(); ++i) {
    models[i].name = asked.history.models[i];
    const std::optional<LossFacts>& loss = profiles[profiles.find(models[i].name)].loss();
    if (!loss) continue;
    models[i].loss = &*loss;
    models[i].shares = shares_of(*loss);
  }
  return models;
}

PageTable models_table(const std::vector<Model>& models) {
  PageTable table;
  table.key = "last-epochs-by-model";
  table.title = "By model";
  table.columns = {"model", "jobs", "epochs", "epochs until within 0.1% (%)",
                   "epochs until the best loss (%)"};
  std::map<std::string, const Model*> by_name;
  for (const Model& model : models) {
    if (model.jobs > 0) by_name.emplace(model.name, &model);
  }
  for (const auto& [name, model] : by_name) {
    table.rows.push_back({name, count_cell(model->jobs), Number{model->loss->epochs, 0},
                          share_cell(model->shares->close, 1), share_cell(model->shares->best, 1)});
  }
  return table;
}

// The distribution of jobs, as in a figure of the study.
PageTable shares_table(const std::vector<Model>& models, std::size_t jobs) {
  PageTable table;
  table.key = "last-epochs-by-share";
  table.title = "By share of the epochs";
  table.columns = {"epochs (%)", "within 0.1% of the best loss (% of jobs)",
                   "best loss (% of jobs)"};
  for (int tenth = 1; tenth <= 10; ++tenth) {
    std::size_t close = 0;
    std::size_t best = 0;
    for (const Model& model : models) {
      if (model.jobs == 0) continue;
      close += model.shares->close <= tenth / 10.0 ? model.jobs : 0;
      best += model.shares->best <= tenth / 10.0 ? model.jobs : 0;
    }
    const auto all = static_cast<double>(jobs);
    table.rows.push_back({std::to_string(10 * tenth), share_cell(static_cast<double>(close), all),
                          share_cell(static_cast<double>(best), all)});
  }
  return table;
}

PageTable outcomes_table(const std::vector<std::pair<std::string_view, EpochTally>>& tallies) {
  PageTable table;
  table.key = "last-epochs";
  table.columns = {"outcome",
                   "jobs",
                   "within 0.1% of the best loss by 40% of the epochs (%)",
                   "epochs until then (%)",
                   "GPU time after that (%)",
                   "best loss in the last epoch (%)"};
  for (const auto& [name, tally] : tallies) {
    const auto jobs = static_cast<double>(tally.jobs);
    table.rows.push_back({std::string(name), count_cell(tally.jobs),
                          share_cell(static_cast<double>(tally.early), jobs),
                          share_cell(tally.close, jobs),
                          share_cell(tally.late_gpu_us, tally.gpu_us),
                          share_cell(static_cast<double>(tally.to_last), jobs)});
  }
  return table;
}

void say(const EpochTally& all, std::size_t without, Section& section) {
  if (all.jobs == 0) {
    section.missing = "losses: no job has a model with recorded losses in its profile";
    return;
  }
  const auto jobs = static_cast<double>(all.jobs);
  section.findings.push_back(fmt::format(
      "According to the profiles, {} of {} had a loss within 0.1% of their best loss by 40% of "
      "their training epochs. {} of the GPU time came after that loss. {} of the jobs had their "
      "best loss in the last epoch.",
      percent(static_cast<double>(all.early), jobs), many(all.jobs, "job"),
      percent(all.late_gpu_us, all.gpu_us), percent(static_cast<double>(all.to_last), jobs)));
  section.missing =
      "the losses; they are taken from the profiles of the models, as if every job had trained "
      "for the recorded number of epochs";
  if (without > 0) {
    section.missing +=
        fmt::format(". Omitted: {} of models without recorded losses", many(without, "job"));
  }
}

}  // namespace

void last_epochs(const StudyInput& asked, Section& section) {
  if (asked.options.profiles == nullptr) {
    section.missing = "losses: neither the source nor a profile has any";
    return;
  }
  std::vector<std::pair<std::string_view, EpochTally>> tallies = {
      {"passed", {}}, {"killed", {}}, {"failed", {}}, {"not known", {}}, {"all", {}}};
  std::vector<Model> models = models_of(asked);
  std::size_t without = 0;
  for (const StudyJob& job : asked.jobs) {
    const PastJob& past = asked.past(job);
    Model& model = models[past.model];
    if (!model.shares) {
      ++without;
      continue;
    }
    ++model.jobs;
    const auto time = static_cast<double>(job.gpu_us);
    tallies[static_cast<std::size_t>(past.status)].second.add(*model.shares, time);
    tallies.back().second.add(*model.shares, time);
  }
  const EpochTally& all = tallies.back().second;
  say(all, without, section);
  if (all.jobs == 0) return;
  section.tables = {outcomes_table(tallies), shares_table(models, all.jobs), models_table(models)};
}

}  // namespace muster
