#include "sim/forecast/replanned_engine.h"

#include <utility>

namespace muster {

namespace {

Engine make_engine(const SchedulingRules& rules) {
  MadePlanner made = make_planner(*rules.cluster, rules.planner);
  EngineOptions options = rules.engine;
  options.pooling = made.pooling;
  options.round = Duration();  // Plan immediately, at any time.
  return {*rules.cluster, std::move(made.planner), options};
}

}  // namespace

bool is_over(JobState state) {
  return state == JobState::kDone || state == JobState::kFailed || state == JobState::kRejected ||
         state == JobState::kCancelled;
}

JobRestored past_of(const Engine& engine, Instant now, JobId id) {
  const Job& job = engine.state().jobs[id];
  const JobFacts facts = View(engine.state(), now).facts(id);
  const std::span<const FailedAttempt> failures = engine.failures(id);
  return {job.spec,
          job.submitted,
          job.epoch,
          facts.work_done,
          facts.gpu_us,
          facts.cpu_milli_ms(),
          facts.mem_mib_ms(),
          {failures.begin(), failures.end()},
          job.lease == kNoRow ? Placement() : engine.lease(id).placement};
}

ReplannedEngine::ReplannedEngine(const Engine& engine, Instant now, const SchedulingRules& rules,
                                 const std::function<void(JobId, JobRestored&)>& change)
    : engine_(make_engine(rules)) {
  const State& state = engine.state();
  std::vector<Event> events;
  row_of_.resize(state.jobs.size());
  std::size_t rows = 0;
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    const Job& job = state.jobs[JobId(i)];
    if (is_over(job.state) || job.state == JobState::kBackOff) continue;
    JobRestored past = past_of(engine, now, JobId(i));
    if (change) change(JobId(i), past);
    events.emplace_back(std::move(past));
    row_of_[i] = JobId(rows++);
  }
  // Nodes are closed only after their jobs are restored.
  for (std::size_t node = 0; node < state.closed.size(); ++node) {
    if (state.closed[NodeId(node)] != 0) events.emplace_back(NodeClosed{NodeId(node)});
  }
  for (const auto& [node, taken] : state.taken) events.emplace_back(NodeTaken{node, taken});
  engine_.step(now, events);
}

bool ReplannedEngine::is_placed(JobId job) const {
  const std::optional<JobId> row = row_of_[job.index()];
  return row && engine_.state().jobs[*row].state == JobState::kPlaced;
}

}  // namespace muster
