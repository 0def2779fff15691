#include "sim/forecast/ways.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace muster {

namespace {

constexpr std::int32_t kFewGpus = 8;           // Up to here every smaller number is tried.
constexpr std::int32_t kMostPriority = 1'000;  // That a request may have.
constexpr std::size_t kMostMoves = 24;         // Tried.
constexpr Duration kLeast = Duration::seconds(60);
constexpr Duration kMost = Duration::seconds(30 * 86'400);

bool uses_type(const State& state, const Placement& placement, std::optional<GpuTypeId> type) {
  return !type || std::any_of(placement.begin(), placement.end(), [&](const Share& share) {
    return state.cluster->topology().node(share.node).gpu_type == *type;
  });
}

Instant believed_end(const State& state, Instant now, JobId job, Duration left) {
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

bool runs_anew(const Engine& engine, Instant now, JobId job, const JobSpec& spec, Begun* begun) {
  const std::vector<Event> events = {JobCancelled{job}, JobSubmitted{spec}};
  return runs_after(engine, now, events, JobId(engine.state().jobs.size()), begun);
}

bool runs_if_shorter(const Engine& engine, Instant now, JobId job, Duration estimate,
                     Begun* begun) {
  JobSpec spec = engine.state().jobs[job].spec;
  spec.estimate = estimate;
  return runs_anew(engine, now, job, spec, begun);
}

Ways::Ways(const Engine& engine, Instant now, JobId job, const WhyOptions& options,
           Constraint constraint)
    : engine_(engine), now_(now), job_(job), options_(options), constraint_(constraint) {
  const State& state = engine.state();
  const std::vector<Duration> left = work_left(engine, now, options);
  for (const JobId other : state.placed) {
    const Lease& lease = engine.lease(other);
    if (!uses_type(state, lease.placement, state.jobs[job].spec.gpu_type)) continue;
    holders_.push_back(
        {other, lease.total.gpus, believed_end(state, now, other, left[other.index()])});
  }
  std::sort(holders_.begin(), holders_.end(), [](const Holder& a, const Holder& b) {
    return a.until != b.until ? a.until < b.until : a.job < b.job;
  });
}

std::vector<WayOut> Ways::find(const Rules& rules) const {
  std::vector<WayOut> ways;
  const JobSpec& spec = engine_.state().jobs[job_].spec;
  if (spec.least.mem_mib > 0) less_beside(ways, WayOut::Kind::kLessMemory);
  if (spec.least.cpu_milli > 0) less_beside(ways, WayOut::Kind::kFewerCpus);
  if (spec.spread > 0) wider_spread(ways);
  if (constraint_ == Constraint::kOrder) higher_priority(ways);
  fewer_gpus(ways);
  other_tenant(ways);
  if (rules.planner.parts.policy == "backfill" && rules.planner.whole.index() == 0) shorter(ways);
  if (constraint_ == Constraint::kPlaces) move(ways);
  after_ends(ways);
  return ways;
}

void Ways::fewer_gpus(std::vector<WayOut>& ways) const {
  JobSpec spec = engine_.state().jobs[job_].spec;
  spec.fewest = spec.most = 0;
  for (std::int32_t gpus = engine_.state().jobs[job_].spec.fewest_gpus(); gpus > 1;) {
    gpus = gpus <= kFewGpus ? gpus - 1 : gpus / 2;
    spec.gpus = gpus;
    WayOut way;
    way.kind = WayOut::Kind::kFewerGpus;
    way.gpus = gpus;
    if (add_if_it_runs(spec, std::move(way), ways)) return;
  }
}

// Less memory or fewer CPUs: the most of a few amounts that do, in the whole numbers people write;
// at last what every job gets without asking.
void Ways::less_beside(std::vector<WayOut>& ways, WayOut::Kind kind) const {
  const bool mem = kind == WayOut::Kind::kLessMemory;
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
    WayOut way;
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

// The narrowest that does.
void Ways::wider_spread(std::vector<WayOut>& ways) const {
  JobSpec spec = engine_.state().jobs[job_].spec;
  const auto servers = static_cast<std::int32_t>(engine_.state().cluster->topology().node_count());
  const std::int32_t most = std::min(spec.gpus, servers);
  while (spec.spread < most) {
    spec.spread = spec.spread < kFewGpus ? spec.spread + 1 : std::min(most, spec.spread * 2);
    WayOut way;
    way.kind = WayOut::Kind::kWiderSpread;
    way.amount = spec.spread;
    if (add_if_it_runs(spec, std::move(way), ways)) return;
  }
}

// Before its user's own waiting jobs, which is for the user to say; priority is inside a tenant.
void Ways::higher_priority(std::vector<WayOut>& ways) const {
  const State& state = engine_.state();
  JobSpec spec = state.jobs[job_].spec;
  std::int32_t highest = spec.priority;
  bool any = false;
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    const Job& other = state.jobs[JobId(i)];
    if (other.state != JobState::kWaiting || JobId(i) == job_) continue;
    if (other.spec.user != spec.user || other.spec.tenant != spec.tenant) continue;
    if (other.spec.priority < spec.priority) continue;  // It is before that one already.
    any = true;
    highest = std::max(highest, other.spec.priority);
  }
  if (!any || highest >= kMostPriority) return;
  spec.priority = highest + 1;
  WayOut way;
  way.kind = WayOut::Kind::kHigherPriority;
  way.amount = spec.priority;
  add_if_it_runs(spec, std::move(way), ways);
}

void Ways::other_tenant(std::vector<WayOut>& ways) const {
  JobSpec spec = engine_.state().jobs[job_].spec;
  for (const TenantId tenant : options_.tenants) {
    if (tenant == engine_.state().jobs[job_].spec.tenant) continue;
    spec.tenant = tenant;
    WayOut way;
    way.kind = WayOut::Kind::kOtherTenant;
    way.tenant = tenant;
    if (add_if_it_runs(spec, std::move(way), ways)) return;
  }
}

void Ways::shorter(std::vector<WayOut>& ways) const {
  // The longest of a few that do. People count time on these servers, the engine work.
  const Job& job = engine_.state().jobs[job_];
  const double speed = engine_.state().cluster->fair_speed(job.spec, NodeId(0));
  for (Duration estimate = kMost; estimate >= kLeast;
       estimate = Duration::micros(estimate.us() / 2)) {
    const auto work =
        Duration::micros(static_cast<std::int64_t>(static_cast<double>(estimate.us()) * speed));
    if (work >= job.estimate) continue;
    WayOut way;
    if (!runs_if_shorter(engine_, now_, job_, work, &way.begun)) continue;
    way.kind = WayOut::Kind::kShorter;
    way.estimate = estimate;
    ways.push_back(std::move(way));
    return;
  }
}

bool Ways::runs_after_ends(std::size_t count) const {
  std::vector<Event> events;
  for (std::size_t i = 0; i < count; ++i) {
    events.push_back(end_of(engine_, holders_[i].job));
  }
  return runs_after(engine_, now_, events, job_);
}

// After the fewest of those that end soonest; nothing if even all of them are not enough, since
// others come first.
void Ways::after_ends(std::vector<WayOut>& ways) const {
  std::size_t enough = 1;
  while (enough < holders_.size() && !runs_after_ends(enough)) enough *= 2;
  enough = std::min(enough, holders_.size());
  if (enough == 0 || !runs_after_ends(enough)) return;
  std::size_t too_few = enough / 2;
  while (enough - too_few > 1) {
    const std::size_t middle = (enough + too_few) / 2;
    (runs_after_ends(middle) ? enough : too_few) = middle;
  }
  WayOut way;
  way.kind = WayOut::Kind::kAfterEnds;
  for (std::size_t i = 0; i < enough; ++i) way.jobs.push_back(holders_[i].job);
  way.when = holders_[enough - 1].until;
  ways.push_back(std::move(way));
}

// One job that could as well be elsewhere: the one that loses least.
void Ways::move(std::vector<WayOut>& ways) const {
  std::vector<Holder> candidates = holders_;
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Holder& a, const Holder& b) { return a.gpus < b.gpus; });
  if (candidates.size() > kMostMoves) candidates.resize(kMostMoves);
  for (const Holder& other : candidates) {
    // Held, it is taken back; released, it comes with its past.
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
    WayOut way;
    way.kind = WayOut::Kind::kMove;
    way.jobs = {other.job};
    way.gpu_time = (options_.costs.save + options_.costs.restart) * other.gpus;
    ways.push_back(std::move(way));
    return;
  }
}

}  // namespace muster
