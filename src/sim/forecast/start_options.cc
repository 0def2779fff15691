#include "sim/forecast/start_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {

namespace {

constexpr std::int32_t kFewGpus = 8;          // Up to here every smaller number is tried.
constexpr std::int32_t kMaxPriority = 1'000;  // That a request may have.
constexpr std::size_t kMaxMoves = 24;         // Tried.
constexpr Duration kMin = Duration::seconds(60);
constexpr Duration kMax = Duration::seconds(30 * 86'400);

bool uses_type(const State& state, const Placement& placement, std::optional<GpuTypeId> type) {
  return !type || std::any_of(placement.begin(), placement.end(), [&](const Share& share) {
    return state.cluster->topology().node(share.node).gpu_type == *type;
  });
}

Instant estimated_end(const State& state, Instant now, JobId job, Duration left) {
  const double speed = state.leases[static_cast<std::size_t>(state.jobs[job].lease)].speed;
  if (!(speed > 0)) return Instant::never();
  const double us = static_cast<double>(left.us()) / speed;
  if (us > static_cast<double>(kLongestDuration.us())) return Instant::never();
  return now + Duration::micros(static_cast<std::int64_t>(us));
}

}  // namespace

std::vector<Duration> work_left(const Engine& engine, Instant now, const WhyOptions& options) {
  if (!options.left.empty()) return options.left;
  const State& state = engine.state();
  const View view(state, now);
  std::vector<Duration> left(state.jobs.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!is_over(state.jobs[JobId(i)].state)) left[i] = view.facts(JobId(i)).remaining();
  }
  return left;
}

Event end_of(const Engine& engine, JobId job) {
  return LeaseEnded{job, engine.state().jobs[job].epoch, LeaseOutcome::kCompleted};
}

bool runs_again(const Engine& engine, Instant now, JobId job, const JobSpec& spec, Begun* begun) {
  const std::vector<Event> events = {JobCancelled{job}, JobSubmitted{spec}};
  return runs_after(engine, now, events, JobId(engine.state().jobs.size()), begun);
}

bool runs_if_shorter(const Engine& engine, Instant now, JobId job, Duration estimate,
                     Begun* begun) {
  JobSpec spec = engine.state().jobs[job].spec;
  spec.estimate = estimate;
  return runs_again(engine, now, job, spec, begun);
}

StartOptions::StartOptions(const Engine& engine, Instant now, JobId job, const WhyOptions& options,
                           Constraint constraint)
    : engine_(engine), now_(now), job_(job), options_(options), constraint_(constraint) {
  const State& state = engine.state();
  const std::vector<Duration> left = work_left(engine, now, options);
  for (const JobId other : state.placed) {
    const Lease& lease = engine.lease(other);
    if (!uses_type(state, lease.placement, state.jobs[job].spec.gpu_type)) continue;
    holders_.push_back(
        {other, lease.total.gpus, estimated_end(state, now, other, left[other.index()])});
  }
  std::sort(holders_.begin(), holders_.end(), [](const Holder& a, const Holder& b) {
    return a.until != b.until ? a.until < b.until : a.job < b.job;
  });
}

std::vector<StartOption> StartOptions::find(const SchedulingRules& rules) const {
  std::vector<StartOption> ways;
  const JobSpec& spec = engine_.state().jobs[job_].spec;
  if (spec.least.mem_mib > 0) less_beside(ways, StartOption::Kind::kLessMemory);
  if (spec.least.cpu_milli > 0) less_beside(ways, StartOption::Kind::kFewerCpus);
  if (spec.spread > 0) wider_spread(ways);
  if (constraint_ == Constraint::kOrder) higher_priority(ways);
  fewer_gpus(ways);
  other_tenant(ways);
  if (rules.planner.parts.policy == "backfill" && rules.planner.whole.index() == 0) shorter(ways);
  if (constraint_ == Constraint::kPlaces) move(ways);
  after_ends(ways);
  return ways;
}

void StartOptions::fewer_gpus(std::vector<StartOption>& ways) const {
  JobSpec spec = engine_.state().jobs[job_].spec;
  spec.fewest = spec.most = 0;
  for (std::int32_t gpus = engine_.state().jobs[job_].spec.fewest_gpus(); gpus > 1;) {
    gpus = gpus <= kFewGpus ? gpus - 1 : gpus / 2;
    spec.gpus = gpus;
    StartOption way;
    way.kind = StartOption::Kind::kFewerGpus;
    way.gpus = gpus;
    if (add_if_it_runs(spec, std::move(way), ways)) return;
  }
}

// Tries a few amounts, largest first, rounded to whole GiB or CPUs. The last one is the share that
// every job gets without a request.
void StartOptions::less_beside(std::vector<StartOption>& ways, StartOption::Kind kind) const {
  const bool mem = kind == StartOption::Kind::kLessMemory;
  JobSpec spec = engine_.state().jobs[job_].spec;
  std::int64_t& each = mem ? spec.least.mem_mib : spec.least.cpu_milli;
  const std::int64_t unit = mem ? 1024 : 1000;
  const std::int64_t asked = each * spec.gpus;
  const Resources& fair = engine_.state().cluster->extent(spec.gpu_type).poorest_fair;
  const std::int64_t usual = (mem ? fair.mem_mib : fair.cpu_milli) * spec.gpus;
  for (const std::int64_t part : {3, 2, 1, 0}) {
    std::int64_t amount = std::max(asked * part / 4, usual);
    if (amount > unit) amount -= amount % unit;
    if (amount >= asked) continue;
    each = (amount + spec.gpus - 1) / spec.gpus;
    StartOption way;
    if (!runs_with(spec, way)) {
      if (amount <= usual) return;
      continue;
    }
    way.kind = kind;
    way.amount = amount;
    ways.push_back(std::move(way));
    return;
  }
}

// Offers the smallest spread with which the job runs.
void StartOptions::wider_spread(std::vector<StartOption>& ways) const {
  JobSpec spec = engine_.state().jobs[job_].spec;
  const auto nodes = static_cast<std::int32_t>(engine_.state().cluster->topology().node_count());
  const std::int32_t most = std::min(spec.gpus, nodes);
  while (spec.spread < most) {
    spec.spread = spec.spread < kFewGpus ? spec.spread + 1 : std::min(most, spec.spread * 2);
    StartOption way;
    way.kind = StartOption::Kind::kWiderSpread;
    way.amount = spec.spread;
    if (add_if_it_runs(spec, std::move(way), ways)) return;
  }
}

// Moves the job before the user's own waiting jobs only, because that is the user's decision.
// Priorities apply within a tenant.
void StartOptions::higher_priority(std::vector<StartOption>& ways) const {
  const State& state = engine_.state();
  JobSpec spec = state.jobs[job_].spec;
  std::int32_t highest = spec.priority;
  bool any = false;
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    const Job& other = state.jobs[JobId(i)];
    if (other.state != JobState::kWaiting || JobId(i) == job_) continue;
    if (other.spec.user != spec.user || other.spec.tenant != spec.tenant) continue;
    if (other.spec.priority < spec.priority) continue;  // The job is already before this one.
    any = true;
    highest = std::max(highest, other.spec.priority);
  }
  if (!any || highest >= kMaxPriority) return;
  spec.priority = highest + 1;
  StartOption way;
  way.kind = StartOption::Kind::kHigherPriority;
  way.amount = spec.priority;
  add_if_it_runs(spec, std::move(way), ways);
}

void StartOptions::other_tenant(std::vector<StartOption>& ways) const {
  JobSpec spec = engine_.state().jobs[job_].spec;
  for (const TenantId tenant : options_.tenants) {
    if (tenant == engine_.state().jobs[job_].spec.tenant) continue;
    spec.tenant = tenant;
    StartOption way;
    way.kind = StartOption::Kind::kOtherTenant;
    way.tenant = tenant;
    if (add_if_it_runs(spec, std::move(way), ways)) return;
  }
}

void StartOptions::shorter(std::vector<StartOption>& ways) const {
  // Offers the longest of a few estimates. Users give time on these nodes, the engine counts work.
  const Job& job = engine_.state().jobs[job_];
  const double speed = engine_.state().cluster->fair_speed(job.spec, NodeId(0));
  for (Duration estimate = kMax; estimate >= kMin; estimate = Duration::micros(estimate.us() / 2)) {
    const auto work =
        Duration::micros(static_cast<std::int64_t>(static_cast<double>(estimate.us()) * speed));
    if (work >= job.estimate) continue;
    StartOption way;
    if (!runs_if_shorter(engine_, now_, job_, work, &way.begun)) continue;
    way.kind = StartOption::Kind::kShorter;
    way.estimate = estimate;
    ways.push_back(std::move(way));
    return;
  }
}

bool StartOptions::runs_after_ends(std::size_t count) const {
  std::vector<Event> events;
  for (std::size_t i = 0; i < count; ++i) {
    events.push_back(end_of(engine_, holders_[i].job));
  }
  return runs_after(engine_, now_, events, job_);
}

// Offers the smallest number of the next jobs to end. Offers nothing if all of them are not enough,
// because other jobs come first.
void StartOptions::after_ends(std::vector<StartOption>& ways) const {
  std::size_t enough = 1;
  while (enough < holders_.size() && !runs_after_ends(enough)) enough *= 2;
  enough = std::min(enough, holders_.size());
  if (enough == 0 || !runs_after_ends(enough)) return;
  std::size_t too_few = enough / 2;
  while (enough - too_few > 1) {
    const std::size_t middle = (enough + too_few) / 2;
    (runs_after_ends(middle) ? enough : too_few) = middle;
  }
  StartOption way;
  way.kind = StartOption::Kind::kAfterEnds;
  for (std::size_t i = 0; i < enough; ++i) way.jobs.push_back(holders_[i].job);
  way.when = holders_[enough - 1].until;
  ways.push_back(std::move(way));
}

// Offers one job that can run elsewhere: the one with the fewest GPUs, which loses least.
void StartOptions::move(std::vector<StartOption>& ways) const {
  std::vector<Holder> candidates = holders_;
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Holder& a, const Holder& b) { return a.gpus < b.gpus; });
  if (candidates.size() > kMaxMoves) candidates.resize(kMaxMoves);
  for (const Holder& other : candidates) {
    // Holding cancels the job; releasing restores it with its history.
    Engine copy = engine_;
    const std::vector<Event> hold = {JobCancelled{other.job}};
    copy.step(now_, hold);
    if (copy.state().jobs[job_].state != JobState::kPlaced) continue;
    JobRestored past = past_of(engine_, now_, other.job);
    past.placement.clear();
    const std::vector<Event> release = {std::move(past)};
    copy.step(now_, release);
    const JobId again(copy.state().jobs.size() - 1);
    if (copy.state().jobs[job_].state != JobState::kPlaced ||
        copy.state().jobs[again].state != JobState::kPlaced) {
      continue;
    }
    StartOption way;
    way.kind = StartOption::Kind::kMove;
    way.jobs = {other.job};
    way.gpu_time = (options_.costs.save + options_.costs.restart) * other.gpus;
    ways.push_back(std::move(way));
    return;
  }
}

}  // namespace muster
