#include "engine/scheduler/scheduler.h"

#include <array>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "engine/mechanism/registry.h"
#include "engine/placement/registry.h"
#include "engine/policy/registry.h"

namespace muster {

namespace {

constexpr std::array<Preset, 5> kPresets = {{
    {"philly", "gangs with locality that relaxes, tenant quotas, back-off (ATC'19)", "", "", "", "",
     ""},
    {"tiresias", "queues by attained GPU time; spreads only models of low skew (NSDI'19)",
     "mlfq-las", "proportional", "skew", "", ""},
    {"gandiva", "time slicing, packing, migration and growth by measured speed (OSDI'18)", "", "",
     "", "", ""},
    {"optimus", "workers go to the jobs that gain most, by fitted loss and speed (EuroSys'18)", "",
     "", "", "600s", "1-16"},
    {"synergy", "shortest remaining time first, CPU and memory by sensitivity (OSDI'22)", "srtf",
     "tune", "consolidate", "300s", ""},
}};

// Returns nullptr if options.whole is not set.
Owned<Planner> make_whole(const Cluster& cluster, const PlannerOptions& options) {
  if (const auto* philly = std::get_if<PhillyOptions>(&options.whole)) {
    PhillyOptions mine = *philly;
    mine.tenants = options.chain.tenants;
    mine.min_run = options.chain.min_run;
    return std::make_unique<Philly>(cluster, mine);
  }
  if (const auto* gandiva = std::get_if<GandivaOptions>(&options.whole)) {
    GandivaOptions mine = *gandiva;
    mine.tenants = options.chain.tenants;
    mine.pairs = options.pairs;
    mine.min_run = options.chain.min_run;
    return std::make_unique<Gandiva>(cluster, mine);
  }
  if (const auto* optimus = std::get_if<OptimusOptions>(&options.whole)) {
    OptimusOptions mine = *optimus;
    mine.tenants = options.chain.tenants;
    mine.min_run = options.chain.min_run;
    return std::make_unique<Optimus>(cluster, mine);
  }
  return {};
}

}  // namespace

MaybeError check_parts(const SchedulerParts& parts) {
  if (const auto found = find_entry(policies(), "policy", parts.policy); !found.ok()) {
    return found.error();
  }
  if (const auto found = find_entry(mechanisms(), "mechanism", parts.mechanism); !found.ok()) {
    return found.error();
  }
  if (const auto found = find_entry(placements(), "placement", parts.placement); !found.ok()) {
    return found.error();
  }
  return std::nullopt;
}

std::span<const Preset> presets() { return kPresets; }

Result<const Preset*> find_preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return &preset;
    names.push_back(preset.name);
  }
  return Error{"unknown scheduler " + in_quotes(name) + suggestion(name, names)};
}

PlannerParts make_parts(const PlannerOptions& options) {
  const SchedulerParts& names = options.parts;
  PlannerParts parts;
  parts.policy = find_entry(policies(), "policy", names.policy).value()->make(options.policy);
  parts.mechanism = options.mechanism
                        ? options.mechanism()
                        : find_entry(mechanisms(), "mechanism", names.mechanism).value()->make();
  parts.placer = find_entry(placements(), "placement", names.placement).value()->make();
  return parts;
}

MadePlanner make_composed(const Cluster& cluster, PlannerParts parts,
                          const ComposedPlannerOptions& options) {
  MadePlanner made;
  made.pooling = parts.pooling();
  made.planner = std::make_unique<ComposedPlanner>(cluster, std::move(parts.policy),
                                                   std::move(parts.mechanism),
                                                   std::move(parts.placer), options);
  return made;
}

MadePlanner make_planner(const Cluster& cluster, const PlannerOptions& options) {
  MadePlanner made;
  made.planner = make_whole(cluster, options);
  if (made.planner) return made;
  return make_composed(cluster, make_parts(options), options.chain);
}

}  // namespace muster
