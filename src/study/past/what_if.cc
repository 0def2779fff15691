#include "study/past/what_if.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/text/text.h"
#include "live/config/settings.h"
#include "study/past/what_if_page.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

MaybeError check_ask(const WhatIfAsk& ask) {
  if (ask.policy.empty() && ask.mechanism.empty() && ask.placement.empty()) {
    return Error{"policy, mechanism or placement: at least one is required"};
  }
  SchedulerParts parts;  // The defaults are always valid.
  if (!ask.policy.empty()) parts.policy = ask.policy;
  if (!ask.mechanism.empty()) parts.mechanism = ask.mechanism;
  if (!ask.placement.empty()) parts.placement = ask.placement;
  MaybeError refusal = check_parts(parts);
  // The error names command line options. Callers of this function have parameters of the same
  // names.
  if (refusal && refusal->message.starts_with("--")) refusal->message.erase(0, 2);
  return refusal;
}

// Replaces a whole scheduler by the parts of the manager's settings.
SimOptions other_options(const WhatIfAsk& ask, SimOptions options) {
  options.whole = {};
  options.scheduler.clear();
  if (!ask.policy.empty()) options.parts.policy = ask.policy;
  if (!ask.mechanism.empty()) options.parts.mechanism = ask.mechanism;
  if (!ask.placement.empty()) options.parts.placement = ask.placement;
  return options;
}

Result<SimResult> simulated(const Workload& workload, const RosterSettings& settings,
                            const SimOptions& options, const std::function<bool()>& go_on) {
  if (!go_on()) return Error{kStoppedEarly};
  SimResult result = simulate(workload.trace, settings.topology, settings.profiles, options);
  if (!go_on()) return Error{kStoppedEarly};
  leave_unfinished(workload, result);
  return result;
}

}  // namespace

EstimateSource estimates_of(const RosterSettings& settings) {
  const EstimateSource::Kind kind = settings.engine.estimates;
  return {kind == EstimateSource::Kind::kProgress ? EstimateSource::Kind::kHistory : kind, 0};
}

RunLabel label_of(const LiveHistory& history) {
  const RosterSettings& settings = history.settings;
  RunLabel label;
  label.scheduler = whole_name(settings);
  const bool whole = !label.scheduler.empty();
  label.policy = whole ? label.scheduler : settings.planner.parts.policy;
  label.mechanism = settings.planner.parts.mechanism;
  label.placement = whole ? label.scheduler : settings.planner.parts.placement;
  label.estimates = EstimateSource{settings.engine.estimates, 0}.text();
  label.trace = history.source;
  label.cluster = cluster_words(settings.topology);
  label.round = settings.engine.round;
  if (settings.tenants) {
    label.tenants = fmt::format("{}, shared by {}", settings.tenants->size(),
                                name_of(settings.tenants->sharing()));
    label.quotas = quotas_of(*settings.tenants);
  }
  return label;
}

SimOptions own_options(const RosterSettings& settings, SimOptions common) {
  common.parts = settings.planner.parts;
  common.whole = settings.planner.whole;
  common.scheduler = whole_name(settings);
  common.round = settings.engine.round;
  common.quantum = settings.engine.quantum;
  common.estimates = estimates_of(settings);
  common.min_run = settings.planner.chain.min_run;
  common.checkpoint_interval = settings.engine.checkpoint_interval;
  common.retry = settings.engine.retry;
  common.tenants = settings.tenants ? &*settings.tenants : nullptr;
  return common;
}

void add_counts(const Era& era, SimResult& happened) {
  happened.events = era.inputs;
  happened.decisions = era.decisions;
  happened.rounds = era.entries;
  std::from_chars(era.digest.data(), era.digest.data() + era.digest.size(), happened.digest, 16);
}

void add_what_if_notes(const Era& era, const Overheads& costs, std::vector<std::string>& notes) {
  if (era.differs) {
    notes.push_back("the journal cannot be replayed, so holds and array limits are unknown: " +
                    era.differs->message);
  }
  add_note(notes, era.held, "job",
           "held for a while, which counts as waiting in the actual result");
  notes.push_back(
      fmt::format("in simulations, a stop costs {}, a restart {}, a move to another node {} more "
                  "(--checkpoint-cost, --restart-cost, --migration-cost)",
                  short_duration(costs.checkpoint), short_duration(costs.restart),
                  short_duration(costs.migration)));
}

std::string short_name(const SimOptions& options, const SchedulerParts& ours) {
  if (!options.scheduler.empty()) return options.scheduler;
  std::string name;
  const auto add = [&](const std::string& part, const std::string& own) {
    if (part != own) name += (name.empty() ? "" : "+") + part;
  };
  add(options.parts.policy, ours.policy);
  add(options.parts.mechanism, ours.mechanism);
  add(options.parts.placement, ours.placement);
  return name;
}

Result<Page> ask_what_if(const std::string& database, const WhatIfAsk& ask,
                         const std::function<bool()>& go_on) {
  if (const MaybeError refusal = check_ask(ask)) return *refusal;
  Result<LivePast> read = read_live_past(database, {kMaxWhatIfJobs, go_on});
  if (!read.ok()) return read.error();
  LiveHistory& history = read.value().history;
  if (ask.since_unix_us) keep_since(history, *ask.since_unix_us);
  const std::size_t gone = keep_known_tenants(history);
  Workload workload = as_workload(history);
  if (workload.trace.jobs.empty()) {
    return Error{gone == 0 ? "no job has run yet"
                           : "no job has run yet, except jobs of tenants that no longer exist"};
  }

  const RosterSettings& settings = history.settings;
  SimOptions common;
  common.history = true;
  common.progress = [&](std::size_t, std::size_t) { return go_on(); };
  SimOptions own = own_options(settings, std::move(common));
  SimOptions otherwise = other_options(ask, own);
  // If a swap takes as long as a tick, no job makes progress. Without costs a comparison is
  // possible.
  if (check_swaps(own) || check_swaps(otherwise)) {
    own.overheads = otherwise.overheads = no_overheads();
  }
  add_what_if_notes(read.value().era, own.overheads, workload.trace.notes);
  add_counts(read.value().era, workload.happened);

  const Result<SimResult> same = simulated(workload, settings, own, go_on);
  if (!same.ok()) return same.error();
  const Result<SimResult> other = simulated(workload, settings, otherwise, go_on);
  if (!other.ok()) return other.error();
  const auto run = [&](const std::string& name, const SimResult& result) {
    return WhatIfRun{name, summarize(result, settings.topology), &result};
  };
  const std::string brief = short_name(otherwise, own.parts);
  const std::array<WhatIfRun, 1> others = {
      run(brief.empty() ? "the same scheduler again" : brief, other.value())};
  return what_if_page(workload, run("as it happened", workload.happened),
                      run("its own scheduler", same.value()), others);
}

}  // namespace muster
