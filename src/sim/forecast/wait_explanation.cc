#include "sim/forecast/wait_explanation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "sim/forecast/start_options.h"

namespace muster {

namespace {

constexpr std::size_t kMaxHolders = 5;

// Opens the closed nodes that the job can use.
std::vector<Event> reopened(const State& state, const JobSpec& spec) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < state.closed.size(); ++i) {
    const NodeId node(i);
    const GpuTypeId type = state.cluster->topology().node(node).gpu_type;
    const bool usable = !spec.gpu_type || type == *spec.gpu_type;
    if (state.closed[node] != 0 && usable) events.emplace_back(NodeOpened{node});
  }
  return events;
}

std::vector<Event> all_external_jobs_gone(const State& state) {
  std::vector<Event> events;
  for (const auto& [node, taken] : state.taken) events.emplace_back(NodeTaken{node, {}});
  return events;
}

std::vector<Event> all_ended(const Engine& engine) {
  std::vector<Event> events;
  for (const JobId job : engine.state().placed) events.push_back(end_of(engine, job));
  return events;
}

// Returns true if the job, at the head of the queue, runs under `others` but not under `rules`.
bool runs_under(const Engine& engine, Instant now, JobId job, const SchedulingRules& rules,
                const SchedulingRules& others) {
  const auto first = [&](JobId id, JobRestored& past) {
    if (id == job) past.spec.priority = std::numeric_limits<std::int32_t>::max();
  };
  return !ReplannedEngine(engine, now, rules, first).is_placed(job) &&
         ReplannedEngine(engine, now, others, first).is_placed(job);
}

SchedulingRules without_quotas(const SchedulingRules& rules) {
  SchedulingRules others = rules;
  others.planner.chain.tenants = nullptr;
  return others;
}

SchedulingRules with_any_place(const SchedulingRules& rules) {
  SchedulingRules others = rules;
  others.planner.parts.placement = "count";
  return others;
}

class Inquiry {
 public:
  Inquiry(const Engine& engine, Instant now, JobId job, const SchedulingRules& rules,
          const WhyOptions& options)
      : engine_(engine), now_(now), job_(job), rules_(rules), options_(options) {}

  Why run() {
    count_gpus();
    if (engine_.state().jobs[job_].state == JobState::kBackOff) {
      why_.constraint = Constraint::kBackOff;
      why_.until = engine_.back_off_until(job_);
      return why_;
    }
    if (starts_anyway()) return why_;
    why_.constraint = find_constraint();
    count_ahead();
    StartOptions ways(engine_, now_, job_, options_, why_.constraint);
    why_.holders = ways.holders();
    why_.ways = ways.find(rules_);
    if (why_.holders.size() > kMaxHolders) why_.holders.resize(kMaxHolders);
    return why_;
  }

 private:
  void count_gpus() {
    const State& state = engine_.state();
    const JobSpec& spec = state.jobs[job_].spec;
    const Topology& topology = state.cluster->topology();
    why_.needs = spec.fewest_gpus();
    why_.gpus = count_free_gpus(engine_, spec.gpu_type).seen_by(job_);
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      const NodeId node(i);
      if (spec.gpu_type && topology.node(node).gpu_type != *spec.gpu_type) continue;
      if (state.ledger.free_gpus(node) == 0) continue;
      why_.most_mem_mib = std::max(why_.most_mem_mib, state.ledger.room(node).mem_mib);
      why_.most_cpu_milli = std::max(why_.most_cpu_milli, state.ledger.room(node).cpu_milli);
    }
  }

  bool starts_anyway() {
    Engine copy = engine_;
    const std::array<Event, 1> nothing = {TimerFired{}};
    copy.step(now_, nothing);
    const auto is_placed = [&] { return copy.state().jobs[job_].state == JobState::kPlaced; };
    if (is_placed()) return true;
    if (!runs_after(engine_, now_, nothing, job_)) return false;
    why_.constraint = Constraint::kNextPlan;
    why_.until = copy.wake();
    return true;
  }

  bool runs_first_after(std::vector<Event> events) const {
    const std::vector<Event> first = put_first(engine_, now_, job_);
    events.insert(events.end(), first.begin(), first.end());
    return runs_after(engine_, now_, events, JobId(engine_.state().jobs.size()));
  }

  Constraint find_constraint() const {
    if (runs_first_after({})) {
      return rules_.planner.parts.policy == "backfill" && rules_.planner.whole.index() == 0 &&
                     runs_if_shorter(engine_, now_, job_, Duration::seconds(1))
                 ? Constraint::kReservation
                 : Constraint::kOrder;
    }
    const std::vector<Event> opened = reopened(engine_.state(), engine_.state().jobs[job_].spec);
    if (!opened.empty() && runs_first_after(opened)) return Constraint::kNodes;
    const std::vector<Event> left = all_external_jobs_gone(engine_.state());
    if (!left.empty() && runs_first_after(left)) return Constraint::kOthers;
    if (rules_.planner.chain.tenants != nullptr &&
        runs_under(engine_, now_, job_, rules_, without_quotas(rules_))) {
      return Constraint::kQuota;
    }
    if (const std::optional<Constraint> beside = what_is_beside()) return *beside;
    const bool of_parts = rules_.planner.whole.index() == 0;
    if (why_.gpus.unheld() >= why_.needs &&
        (!of_parts || runs_under(engine_, now_, job_, rules_, with_any_place(rules_)))) {
      return why_.gpus.most_on_one < why_.needs ? Constraint::kPlaces : what_its_share_lacks();
    }
    const std::vector<Event> ended = all_ended(engine_);
    if (runs_first_after(ended))
      return lacks_only_its_share() ? what_its_share_lacks() : Constraint::kGpus;
    // Two constraints bind at the same time. The more lasting one is reported.
    std::vector<Event> both = opened;
    both.insert(both.end(), ended.begin(), ended.end());
    if (!opened.empty() && runs_first_after(both)) return Constraint::kNodes;
    both.insert(both.end(), left.begin(), left.end());
    if (!left.empty() && runs_first_after(both)) {
      return opened.empty() ? Constraint::kOthers : Constraint::kNodes;
    }
    if (rules_.planner.chain.tenants != nullptr) return Constraint::kQuota;
    if (!opened.empty()) return Constraint::kNodes;
    return !left.empty() ? Constraint::kOthers : Constraint::kOrder;
  }

  // Tests at the head of the queue: without the memory request, the CPU request, or both.
  std::optional<Constraint> what_is_beside() const {
    const auto runs_without = [&](bool mem, bool cpus) {
      std::vector<Event> first = put_first(engine_, now_, job_);
      Resources& least = std::get<JobRestored>(first.back()).spec.least;
      if (mem) least.mem_mib = 0;
      if (cpus) least.cpu_milli = 0;
      return runs_after(engine_, now_, first, JobId(engine_.state().jobs.size()));
    };
    const Resources& least = engine_.state().jobs[job_].spec.least;
    const bool mem = least.mem_mib > 0;
    const bool cpus = least.cpu_milli > 0;
    if (mem && runs_without(true, false)) return Constraint::kMemory;
    if (cpus && runs_without(false, true)) return Constraint::kCpus;
    if (mem && cpus && runs_without(true, true)) return Constraint::kMemory;
    return std::nullopt;
  }

  // The guaranteed minimum of the job on the node with the most free GPUs.
  Resources right() const {
    const State& state = engine_.state();
    return at_least(state.cluster->fair(why_.gpus.best), state.jobs[job_].spec.least) * why_.needs;
  }

  bool lacks_only_its_share() const {
    if (why_.gpus.most_on_one < why_.needs) return false;
    const ResourceLedger::Room& room = engine_.state().ledger.room(why_.gpus.best);
    return right().mem_mib > room.mem_mib || right().cpu_milli > room.cpu_milli;
  }

  // Enough GPUs are free on one node, but other jobs use the memory or CPUs that belong to them.
  Constraint what_its_share_lacks() const {
    return right().mem_mib > engine_.state().ledger.room(why_.gpus.best).mem_mib
               ? Constraint::kMemory
               : Constraint::kCpus;
  }

  void count_ahead() {
    const State& state = engine_.state();
    Lookahead drive(engine_, now_, work_left(engine_, now_, options_), options_.costs);
    std::set<JobId> seen;
    std::size_t steps = 4 * (state.waiting + state.placed.size()) + 1'000;  // Enough for most jobs.
    while (steps-- > 0 && drive.engine().state().jobs[job_].state != JobState::kPlaced) {
      if (!drive.advance(kHorizon)) break;
    }
    // Without a queue order, or beyond its limit, each job that starts first counts as ahead.
    constexpr std::size_t kMaxInLine = 100'000;
    std::vector<JobId> before =
        engine_.queue_order(now_, kMaxInLine).value_or(std::vector<JobId>());
    const auto own = std::find(before.begin(), before.end(), job_);
    const bool in_line = own != before.end();
    before.erase(own, before.end());
    std::sort(before.begin(), before.end());
    for (const JobId job : drive.started()) {
      if (job == job_) break;
      if (state.jobs[job].state != JobState::kWaiting || !seen.insert(job).second) continue;
      if (in_line && !std::binary_search(before.begin(), before.end(), job)) {
        ++why_.passing;
        continue;
      }
      if (!why_.first) why_.first = job;
      ++why_.ahead;
      why_.ahead_gpus += state.jobs[job].spec.gpus;
    }
  }

  const Engine& engine_;
  Instant now_;
  JobId job_;
  const SchedulingRules& rules_;
  const WhyOptions& options_;
  Why why_;
};

}  // namespace

std::string_view constraint_name(Constraint constraint) {
  constexpr std::array<std::string_view, 12> kNames = {
      "none",   "next-plan", "back-off", "reservation", "order",         "nodes",
      "others", "quota",     "memory",   "cpus",        "fragmentation", "gpus"};
  return kNames[static_cast<std::size_t>(constraint)];
}

std::vector<Event> put_first(const Engine& engine, Instant now, JobId job) {
  JobRestored past = past_of(engine, now, job);
  past.spec.priority = std::numeric_limits<std::int32_t>::max();
  return {JobCancelled{job}, std::move(past)};
}

bool runs_after(const Engine& engine, Instant now, std::span<const Event> events, JobId job,
                Begun* begun) {
  Engine copy = engine;
  const auto step = [&](Instant at, std::span<const Event> what) {
    if (begun != nullptr) begun->at = at;
    for (const Action& action : copy.step(at, what)) {
      if (begun == nullptr || action.kind != Action::Kind::kStop) continue;
      const auto& before = engine.state().jobs;  // Ignore jobs that came and went in the trial.
      if (!before.contains(action.job) || before[action.job].state != JobState::kPlaced) continue;
      begun->stops.push_back(action.job);
    }
  };
  step(now, events);
  const auto is_placed = [&] { return copy.state().jobs[job].state == JobState::kPlaced; };
  const Instant until = now + copy.longest_pause();
  // Some planners plan or preempt only at fixed times: advance to the next one. A wake-up may also
  // have another cause.
  const std::uint64_t plans = copy.counters().plans;
  while (!is_placed() && copy.wake() <= until && copy.counters().plans == plans) {
    const std::array<Event, 1> timer = {TimerFired{}};
    step(copy.wake(), timer);
  }
  return is_placed();
}

Why explain(const Engine& engine, Instant now, JobId job, const SchedulingRules& rules,
            const WhyOptions& options) {
  return Inquiry(engine, now, job, rules, options).run();
}

}  // namespace muster
