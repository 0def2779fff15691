#include "sim/compat/synergy_planner.h"

#include <algorithm>
#include <utility>

namespace muster {

SynergyPlanner::SynergyPlanner(const Cluster& cluster, PlannerParts parts, std::uint64_t seed)
    : cluster_(&cluster), parts_(std::move(parts)), seed_(seed), traits_(parts_.policy->traits()) {}

std::optional<std::string> SynergyPlanner::refuse(const JobSpec& spec) {
  return why_never_placed(*cluster_, *parts_.mechanism, *parts_.placer, spec);
}

void SynergyPlanner::enqueue(const View& view, JobId job) {
  if (known_.size() < view.job_count()) known_.resize(view.job_count());
  waiting_.push_back(job);
  const bool ran = std::exchange(known_[job], true) != 0;
  if (!traits_.remembers) return;
  ran ? parts_.policy->stopped(view.facts(job)) : parts_.policy->submitted(view.facts(job));
}

void SynergyPlanner::forget(const View& view, JobId job, JobExit job_exit) {
  std::erase(waiting_, job);
  if (traits_.remembers) parts_.policy->ended(view.facts(job), job_exit == JobExit::kCompleted);
}

Instant SynergyPlanner::review_at() const {
  return traits_.remembers ? parts_.policy->review_at() : Instant::never();
}

void SynergyPlanner::review(const View& view) {
  for (const JobId job : view.placed()) parts_.policy->review(view.facts(job));
  std::vector<JobId> moved;  // Not needed: each plan ranks all jobs.
  parts_.policy->reviewed(view.now(), moved);
}

// Synergy's simulator divides the remaining time by a speedup: that of the last round if the job
// ran in it, otherwise that of its best-case demand.
Rank SynergyPlanner::rank(const View& view, JobId job) const {
  JobFacts facts = view.facts(job);
  double speed = 1;
  if (view.is_placed(job)) {
    speed = view.speed(job);
  } else {
    const ResourceLedger empty(cluster_->topology(), parts_.pooling());
    Ask ask = ask_for(view, job, seed_);
    parts_.mechanism->place(*cluster_, *parts_.placer, empty, ask);
    if (!ask.given.empty()) speed = cluster_->speed(*ask.spec, ask.given);
  }
  const double left = static_cast<double>(facts.remaining().us()) / std::max(speed, 1e-6);
  const double longest = static_cast<double>(kLongestDuration.us());
  facts.estimate =
      facts.work_done + Duration::micros(static_cast<std::int64_t>(std::min(left, longest)));
  return parts_.policy->rank(facts);
}

void SynergyPlanner::plan(const View& view, Draft& draft, PlanTrigger /*trigger*/) {
  if (traits_.remembers) review(view);
  std::vector<RankedJob> all;
  for (const JobId job : view.placed()) all.push_back({job, rank(view, job)});
  for (const JobId job : waiting_) all.push_back({job, rank(view, job)});
  std::sort(all.begin(), all.end(),
            [&](const RankedJob& a, const RankedJob& b) { return goes_before(a, b, view.now()); });
  asks_.clear();
  for (const RankedJob& entry : all) asks_.push_back(ask_for(view, entry.job, seed_));
  ResourceLedger empty(cluster_->topology(), parts_.pooling());
  parts_.mechanism->rebalance(*cluster_, *parts_.placer, empty, asks_);
  draft_asks(draft, asks_);
  for (const Ask& ask : asks_) {
    if (view.is_placed(ask.job) || draft.placement(ask.job) == nullptr) continue;
    std::erase(waiting_, ask.job);
    if (traits_.remembers) parts_.policy->started(view.facts(ask.job));
  }
}

}  // namespace muster
