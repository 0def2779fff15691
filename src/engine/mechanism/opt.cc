#include "engine/mechanism/opt.h"

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/types/check.h"
#include "engine/core/guaranteed_ledger.h"
#include "engine/mechanism/choices.h"
#include "engine/mechanism/demand.h"

namespace muster {

namespace {

constexpr int kMaxTreeNodes = 2000;          // Counted, not timed, so that runs are reproducible.
constexpr double kGoodEnough = 1e-5;         // Relative gap at which the search stops.
constexpr std::size_t kMaxAnswers = 10'000;  // Maximum size of the cache.
constexpr double kWhole = 0.999;             // A job with this fraction on one node is not split.

// Sparse columns for the solvers' C interfaces.
struct Columns {
  std::vector<int> starts{0};
  std::vector<int> rows;
  std::vector<double> values;
  std::vector<double> lower, upper, objective;

  void entry(int row, double value) {
    rows.push_back(row);
    values.push_back(value);
  }
  void end_column(double low, double high, double weight) {
    starts.push_back(static_cast<int>(rows.size()));
    lower.push_back(low);
    upper.push_back(high);
    objective.push_back(weight);
  }
  int count() const { return static_cast<int>(lower.size()); }
};

// Jobs that are equal for both programs.
struct Kind {
  std::vector<std::size_t> jobs;
  std::vector<Choice> choices;
  std::int32_t gpus = 1;
};

std::vector<Kind> group(const Cluster& cluster, std::span<const JobSpec* const> specs) {
  std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t, std::int64_t, std::int64_t>, Kind>
      kinds;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::uint32_t type = specs[i]->gpu_type ? specs[i]->gpu_type->index() + 1 : 0;
    const Resources& least = specs[i]->least;
    Kind& kind =
        kinds[{specs[i]->profile.index(), specs[i]->gpus, type, least.cpu_milli, least.mem_mib}];
    if (kind.jobs.empty()) {
      // A job must not fall below the share of its node, which is not known yet, so use the
      // richest.
      kind.choices =
          choices_for(cluster, *specs[i], NodeId(0),
                      cluster.extent(specs[i]->gpu_type).richest_fair, ChoiceGrid::kMeasured);
      kind.gpus = specs[i]->gpus;
    }
    kind.jobs.push_back(i);
  }
  std::vector<Kind> list;
  for (auto& [key, kind] : kinds) list.push_back(std::move(kind));
  return list;
}

// Marks new jobs, in order, that do not fit if all earlier jobs and all running jobs have their
// guaranteed minimum. Empty if no job requests CPU or memory.
std::vector<bool> jobs_that_do_not_fit(const Cluster& cluster, const ResourceLedger& ledger,
                                       std::span<const Ask> asks) {
  if (std::none_of(asks.begin(), asks.end(),
                   [](const Ask& ask) { return ask.spec->has_least(); })) {
    return {};
  }
  std::vector<bool> refused(asks.size());
  ResourceLedger::Room room = ledger.room(NodeId(0));
  for (const bool running : {true, false}) {
    for (std::size_t i = 0; i < asks.size(); ++i) {
      if ((asks[i].held != nullptr) != running) continue;
      const JobSpec& spec = *asks[i].spec;
      Resources right;
      if (running) {
        right = total_of(least_on(cluster, spec, *asks[i].held));
      } else {  // Its node is not known yet.
        right = at_least(cluster.extent(spec.gpu_type).richest_fair, spec.least) * spec.gpus;
      }
      refused[i] = right.cpu_milli > room.cpu_milli || right.mem_mib > room.mem_mib;
      if (refused[i]) continue;
      room.cpu_milli -= right.cpu_milli;
      room.mem_mib -= right.mem_mib;
    }
  }
  return refused;
}

}  // namespace

CombinedNodePlan plan_combined_node(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                    std::int64_t cpu_milli, std::int64_t mem_mib) {
  CombinedNodePlan plan;
  plan.per_gpu.resize(specs.size());
  if (specs.empty()) return plan;
  const std::vector<Kind> kinds = group(cluster, specs);
  // Rows: CPU, memory, then one per kind: every job has exactly one choice.
  Columns columns;
  std::vector<double> row_lower = {0.0, 0.0};
  std::vector<double> row_upper = {static_cast<double>(cpu_milli) / 1000.0,
                                   static_cast<double>(mem_mib) / 1024.0};
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const auto jobs = static_cast<double>(kinds[k].jobs.size());
    row_lower.push_back(jobs);
    row_upper.push_back(jobs);
    for (const Choice& choice : kinds[k].choices) {
      const double gpus = kinds[k].gpus;
      columns.entry(0, gpus * static_cast<double>(choice.cpu_milli) / 1000.0);
      columns.entry(1, gpus * static_cast<double>(choice.mem_mib) / 1024.0);
      columns.entry(static_cast<int>(k) + 2, 1.0);
      columns.end_column(0.0, jobs, choice.speed);
    }
  }
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
  Cbc_loadProblem(model.get(), columns.count(), static_cast<int>(row_lower.size()),
                  columns.starts.data(), columns.rows.data(), columns.values.data(),
                  columns.lower.data(), columns.upper.data(), columns.objective.data(),
                  row_lower.data(), row_upper.data());
  Cbc_setObjSense(model.get(), -1.0);  // Maximize.
  for (int i = 0; i < columns.count(); ++i) Cbc_setInteger(model.get(), i);
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setMaximumNodes(model.get(), kMaxTreeNodes);
  Cbc_setAllowableFractionGap(model.get(), kGoodEnough);
  Cbc_solve(model.get());
  const double* solution = Cbc_getColSolution(model.get());
  MUSTER_CHECK(solution != nullptr);

  std::size_t column = 0;
  for (const Kind& kind : kinds) {
    std::size_t next = 0;
    for (const Choice& choice : kind.choices) {
      const auto count = static_cast<std::size_t>(std::llround(solution[column++]));
      for (std::size_t i = 0; i < count && next < kind.jobs.size(); ++i, ++next) {
        plan.per_gpu[kind.jobs[next]] = {1, choice.cpu_milli, choice.mem_mib, 0};
        plan.speed += choice.speed;
      }
    }
    // If the solver stopped early, the remaining jobs get the cheapest choice.
    for (; next < kind.jobs.size(); ++next) {
      const Choice& least = kind.choices.front();
      plan.per_gpu[kind.jobs[next]] = {1, least.cpu_milli, least.mem_mib, 0};
      plan.speed += least.speed;
    }
  }
  return plan;
}

std::vector<double> spread_over_nodes(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                      std::span<const Resources> per_gpu) {
  const Topology& topology = cluster.topology();
  const std::size_t nodes = topology.node_count();
  // Rows: GPUs, CPUs and memory of each node, then one per job: its fractions sum to 1.
  Columns columns;
  std::vector<double> row_lower(3 * nodes + specs.size(), 0.0);
  std::vector<double> row_upper(3 * nodes + specs.size(), 1.0);
  for (std::size_t s = 0; s < nodes; ++s) {
    const Resources& capacity = topology.node(NodeId(s)).capacity;
    row_upper[3 * s] = capacity.gpus;
    row_upper[3 * s + 1] = static_cast<double>(capacity.cpu_milli);
    row_upper[3 * s + 2] = static_cast<double>(capacity.mem_mib);
  }
  for (std::size_t j = 0; j < specs.size(); ++j) {
    row_lower[3 * nodes + j] = 1.0;
    const double gpus = specs[j]->gpus;
    for (std::size_t s = 0; s < nodes; ++s) {
      const auto row = static_cast<int>(3 * s);
      columns.entry(row, gpus);
      columns.entry(row + 1, gpus * static_cast<double>(per_gpu[j].cpu_milli));
      columns.entry(row + 2, gpus * static_cast<double>(per_gpu[j].mem_mib));
      columns.entry(static_cast<int>(3 * nodes + j), 1.0);
      const bool allowed =
          !specs[j]->gpu_type || *specs[j]->gpu_type == topology.node(NodeId(s)).gpu_type;
      columns.end_column(0.0, allowed ? 1.0 : 0.0, 0.0);
    }
  }
  const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> model(Clp_newModel(), Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_loadProblem(model.get(), columns.count(), static_cast<int>(row_lower.size()),
                  columns.starts.data(), columns.rows.data(), columns.values.data(),
                  columns.lower.data(), columns.upper.data(), columns.objective.data(),
                  row_lower.data(), row_upper.data());
  Clp_dual(model.get(), 0);
  if (Clp_status(model.get()) != 0) return {};
  const double* solution = Clp_primalColumnSolution(model.get());
  return {solution, solution + columns.count()};
}

void Opt::place(const Cluster& cluster, const Placer& placer, const ResourceLedger& ledger,
                Ask& ask) const {
  placer.place(cluster, ledger, fair_demand(ask), ask.given);
}

// Solves program 1, or returns the cached result for the same jobs and resources.
const CombinedNodePlan& Opt::plan_for(const Cluster& cluster, std::span<const JobSpec* const> specs,
                                      const ResourceLedger::Room& room) {
  Question question{room.cpu_milli, room.mem_mib, {}};
  for (const JobSpec* spec : specs) {
    question.jobs.push_back({spec->profile.index(), spec->gpus,
                             spec->gpu_type ? std::int64_t{spec->gpu_type->index()} : -1,
                             spec->least.cpu_milli, spec->least.mem_mib});
  }
  if (answers_.size() > kMaxAnswers) answers_.clear();
  const auto [answer, is_new] = answers_.try_emplace(std::move(question));
  if (is_new) {
    answer->second = plan_combined_node(cluster, specs, room.cpu_milli, room.mem_mib);
  }
  return answer->second;
}

namespace {

// The jobs that run (in order, as many as there are GPUs) and their resources.
class Allotment {
 public:
  Allotment(const Cluster& cluster, ResourceLedger& ledger, std::span<Ask> asks)
      : cluster_(cluster), ledger_(ledger) {
    std::int32_t free = ledger.free_gpus();
    const std::vector<bool> refused = jobs_that_do_not_fit(cluster, ledger, asks);
    for (Ask& ask : asks) {
      const auto index = static_cast<std::size_t>(&ask - asks.data());
      if (ask.spec->gpus > free || (!refused.empty() && refused[index])) continue;
      free -= ask.spec->gpus;
      running_.push_back(&ask);
      specs_.push_back(ask.spec);
    }
  }
  const std::vector<const JobSpec*>& specs() const { return specs_; }

  // Running jobs stay. If none runs, program 2 spreads the jobs. Other new jobs go to free GPUs.
  void place(const Placer& placer, const CombinedNodePlan& plan, const ResourceLedger::Room& room) {
    plan_ = &plan;
    fits_ = fits(room);
    stay_or_spread();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Ask& ask = *running_[i];
      if (!ask.given.empty()) continue;
      Demand bare = fair_demand(ask);
      bare.per_gpu = Resources{1, 0, 0, 0};
      if (placer.place(cluster_, ledger_, bare, ask.given)) settle(i);
    }
  }

 private:
  // On unequal nodes, the richest share for all jobs may exceed the resources. The guaranteed
  // minimum always fits, so it is used instead.
  bool fits(const ResourceLedger::Room& room) const {
    std::int64_t cpu = 0;
    std::int64_t mem = 0;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      cpu += plan_->per_gpu[i].cpu_milli * specs_[i]->gpus;
      mem += plan_->per_gpu[i].mem_mib * specs_[i]->gpus;
    }
    return cpu <= room.cpu_milli && mem <= room.mem_mib;
  }

  void stay_or_spread() {
    const bool fresh = std::none_of(running_.begin(), running_.end(),
                                    [](const Ask* ask) { return ask->held != nullptr; });
    std::vector<double> spread;
    if (fresh) spread = spread_over_nodes(cluster_, specs_, plan_->per_gpu);
    const std::size_t nodes = cluster_.topology().node_count();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Ask& ask = *running_[i];
      if (ask.held != nullptr) {
        ask.given = *ask.held;
        settle(i);
      } else if (!spread.empty()) {
        for (std::size_t s = 0; s < nodes && ask.given.empty(); ++s) {
          if (spread[i * nodes + s] < kWhole || is_among(ask.avoid, NodeId(s))) continue;
          if (ledger_.free_gpus(NodeId(s)) < ask.spec->gpus) continue;
          ask.given.push_back(
              {NodeId(s), lowest_slots(ledger_.free_slots(NodeId(s)), ask.spec->gpus), 0, 0, 0});
          settle(i);
        }
      }
    }
  }

  void settle(std::size_t i) {
    for (Share& share : running_[i]->given) {
      const Resources each =
          fits_ ? plan_->per_gpu[i] : at_least(cluster_.fair(share.node), specs_[i]->least);
      share.cpu_milli = each.cpu_milli * share.gpus();
      share.mem_mib = each.mem_mib * share.gpus();
      share.storage_kbps = cluster_.extent(std::nullopt).poorest_fair.storage_kbps * share.gpus();
      ledger_.take(share);
    }
  }

  const Cluster& cluster_;
  ResourceLedger& ledger_;
  std::vector<Ask*> running_;
  std::vector<const JobSpec*> specs_;  // Specs of `running_`.
  const CombinedNodePlan* plan_ = nullptr;
  bool fits_ = false;
};

}  // namespace

void Opt::rebalance(const Cluster& cluster, const Placer& placer, ResourceLedger& ledger,
                    std::span<Ask> asks) {
  Allotment allotment(cluster, ledger, asks);
  const ResourceLedger::Room room = ledger.room(NodeId(0));
  allotment.place(placer, plan_for(cluster, allotment.specs(), room), room);
}

}  // namespace muster
