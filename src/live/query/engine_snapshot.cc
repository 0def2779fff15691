#include <algorithm>

#include "base/text/text.h"
#include "engine/roster/roster.h"
#include "live/query/engine_snapshot.h"

namespace muster {

namespace {

// Returns why each node is unschedulable; empty if it is schedulable.
std::vector<std::string> closed_reasons(const Roster& roster, Instant now) {
  std::vector<std::string> reasons(roster.settings().topology.node_count());
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const NodeId node(i);
    const auto quarantine = roster.quarantines().find(node);
    if (!roster.is_usable(node)) {
      reasons[i] = "unusable: " + roster.conditions().at(node).why;
    } else if (roster.is_drained(node)) {
      const auto end = roster.drain_ends().find(node);
      reasons[i] = end == roster.drain_ends().end()
                       ? "drained"
                       : "drained for " + rough(std::max(end->second - now, Duration()));
    } else if (quarantine != roster.quarantines().end()) {
      reasons[i] = "in quarantine: " + quarantine->second.why;
    }
  }
  return reasons;
}

// Nodes that are schedulable after they pass their test, or when their maintenance ends.
std::vector<FutureNode> nodes_to_open(const Roster& roster, Instant now) {
  std::vector<FutureNode> nodes;
  const std::map<NodeId, Instant>& ends = roster.drain_ends();
  for (const auto& [node, quarantine] : roster.quarantines()) {
    const auto end = ends.find(node);
    if (!roster.is_usable(node) || (roster.is_drained(node) && end == ends.end())) continue;
    const Instant after = end == ends.end() ? now : std::max(end->second, now);
    nodes.push_back({std::max(quarantine.until, after), node, true});
  }
  for (const auto& [node, end] : ends) {
    if (!roster.is_usable(node) || roster.quarantines().contains(node)) continue;
    nodes.push_back({std::max(end, now), node, false});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const FutureNode& a, const FutureNode& b) { return a.at < b.at; });
  return nodes;
}

// Run times of finished jobs, and the latest arrivals.
RuntimeSampler guesses_of(const Roster& roster) {
  struct Arrival {
    Instant at;
    JobSpec spec;
  };
  RuntimeSampler guesses;
  std::vector<Arrival> arrivals;
  JobRequest request;
  for (const FinishedSample& known : roster.finished()) {
    request.name = known.name;
    request.gpus = known.gpus;
    const JobSpec spec = roster.to_job_spec(request, known.user, known.tenant);
    guesses.learn(spec, known.work);
    if (known.submitted > Instant()) arrivals.push_back({known.submitted, spec});
  }
  // Only the latest arrivals count. Ids ascend with time, so iterate backwards.
  std::size_t room = RuntimeSampler::kArrivals;
  for (auto at = roster.jobs().rbegin(); at != roster.jobs().rend() && room > 0; ++at) {
    const LiveJob& job = at->second;
    if (!job.row) continue;
    arrivals.push_back({job.submitted, roster.to_job_spec(job.request, job.user, job.tenant)});
    --room;
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  for (const Arrival& arrival : arrivals) guesses.record_arrival(arrival.at, arrival.spec);
  return guesses;
}

}  // namespace

EngineSnapshot engine_snapshot(const Roster& roster, Instant now) {
  const RosterSettings& settings = roster.settings();
  SchedulingRules rules;
  rules.cluster = roster.engine().state().cluster;
  rules.planner = settings.planner;
  rules.planner.chain.tenants = settings.tenants ? &*settings.tenants : nullptr;
  rules.engine = settings.engine;
  EngineSnapshot snapshot{roster.world(),
                          std::max(now, roster.now()),
                          roster.engine(),
                          std::move(rules),
                          guesses_of(roster),
                          {},
                          {},
                          closed_reasons(roster, std::max(now, roster.now())),
                          nodes_to_open(roster, std::max(now, roster.now()))};
  for (std::size_t i = 0; i < roster.rows(); ++i) {
    snapshot.live_of.push_back(roster.live_of(JobId(i)));
  }
  snapshot.users.resize(roster.users().size());
  for (const auto& [user, id] : roster.users()) snapshot.users[id] = user;
  return snapshot;
}

}  // namespace muster
