#include "engine/planner/gandiva_room.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include "engine/planner/locality.h"

namespace muster {

namespace {

// Interval between checks of overdue jobs that cannot start.
constexpr Duration kRecheck = Duration::seconds(300);
// Interval between rotations.
constexpr Duration kRotation = Duration::seconds(600);

struct Claim {
  JobId job;
  bool overdue;
  bool immediate;  // False: ignore the minimum run time of victims.
};

// A placement and the seats to clear for it.
struct Room {
  Placement place;
  std::vector<GpuSeats::Row> rows;
};

bool by_age(const GandivaFloor& floor, PlanWriter pen, const Claim& claim, JobId victim) {
  return claim.overdue && victim > claim.job &&
         (!floor.queue().has_tenants() || pen.spec(victim).tenant == pen.spec(claim.job).tenant);
}

bool may_stop(PlanWriter pen, const GandivaFloor& floor, const Claim& claim, JobId victim) {
  const auto long_enough = [&](Duration time) {
    return !claim.immediate || floor.has_held(pen.view, victim, time);
  };
  if (floor.queue().is_lent(pen.spec(victim)) && long_enough(floor.min_run())) return true;
  return by_age(floor, pen, claim, victim) && long_enough(std::max(floor.min_run(), floor.slice()));
}

std::int32_t gpus_of_type(const Cluster& cluster, const Placement& placement,
                          std::optional<GpuTypeId> type) {
  std::int32_t gpus = 0;
  for (const Share& share : placement) {
    if (!type || cluster.topology().node(share.node).gpu_type == *type) gpus += share.gpus();
  }
  return gpus;
}

// Returns seats whose members may all be stopped, youngest first. Empty if they are not enough.
std::vector<GpuSeats::Row> seats_to_clear(PlanWriter pen, const GandivaFloor& floor,
                                          const Claim& claim) {
  const JobSpec& spec = pen.spec(claim.job);
  const GpuSeats& seats = floor.seats();
  std::int32_t gpus = pen.ledger().free_gpus(spec.gpu_type);
  std::vector<std::tuple<Instant, JobId, GpuSeats::Row>> young;
  for (GpuSeats::Row row = 0; row < seats.rows(); ++row) {
    const GpuSeats::Seat& seat = seats[row];
    if (seat.members.empty() || floor.is_suspect(seat.placement)) continue;
    const std::int32_t here = gpus_of_type(floor.cluster(), seat.placement, spec.gpu_type);
    const auto stoppable = [&](JobId job) { return may_stop(pen, floor, claim, job); };
    if (here == 0 || !std::all_of(seat.members.begin(), seat.members.end(), stoppable)) continue;
    gpus += here;
    Instant since;
    for (const JobId job : seat.members) since = std::max(since, floor.placed(job));
    young.emplace_back(since, seat.members.front(), row);
  }
  std::vector<GpuSeats::Row> rows;
  if (gpus < spec.gpus) return rows;
  std::sort(young.begin(), young.end(), std::greater<>());
  for (const auto& [since, job, row] : young) rows.push_back(row);
  return rows;
}

bool overlap(const Placement& a, const Placement& b) {
  return std::any_of(a.begin(), a.end(), [&](const Share& mine) {
    return std::any_of(b.begin(), b.end(), [&](const Share& other) {
      return mine.node == other.node && (mine.slots & other.slots) != 0;
    });
  });
}

// Whether no tenant would lose more than it has borrowed, apart from the excess of the last gang.
bool is_owed(PlanWriter pen, GandivaFloor& floor, const Claim& claim,
             const std::vector<GpuSeats::Row>& rows) {
  std::vector<JobId> victims;
  for (const GpuSeats::Row row : rows) {
    const std::vector<JobId>& members = floor.seats()[row].members;
    victims.insert(victims.end(), members.begin(), members.end());
  }
  for (const JobId victim : victims) floor.queue().refund(pen.spec(victim));
  const bool owed = std::all_of(victims.begin(), victims.end(), [&](JobId victim) {
    const JobSpec& theirs = pen.spec(victim);
    return by_age(floor, pen, claim, victim) || !floor.queue().is_own(theirs.tenant, theirs.gpus);
  });
  for (const JobId victim : victims) floor.queue().charge(pen.spec(victim));
  return owed;
}

// Returns the room if all blocking jobs may be stopped.
std::optional<Room> room_at(PlanWriter pen, GandivaFloor& floor, const Claim& claim,
                            std::span<const GpuSeats::Row> cleared, Placement place) {
  Room room;
  for (const GpuSeats::Row row : cleared) {
    if (overlap(floor.seats()[row].placement, place)) room.rows.push_back(row);
  }
  if (!is_owed(pen, floor, claim, room.rows)) return std::nullopt;
  room.place = std::move(place);
  return room;
}

std::optional<Room> room_on_one_node(PlanWriter pen, GandivaFloor& floor, const Claim& claim,
                                     std::span<const GpuSeats::Row> rows, const Demand& demand) {
  const Cluster& cluster = floor.cluster();
  ResourceLedger scratch = pen.ledger();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Share& share : floor.seats()[rows[i]].placement) {
      scratch.give(share);
      if (!demand.allows(cluster, share.node)) continue;
      if (!scratch.can_serve(share.node, cluster.fair(share.node), demand.gpus)) continue;
      Placement place = {make_share(cluster, scratch, demand, share.node, demand.gpus)};
      auto room = room_at(pen, floor, claim, rows.first(i + 1), std::move(place));
      if (room) return room;
    }
  }
  return std::nullopt;
}

std::optional<Room> room_on_fewest_nodes(PlanWriter pen, GandivaFloor& floor, const Claim& claim,
                                         std::span<const GpuSeats::Row> rows,
                                         const Demand& demand) {
  ResourceLedger scratch = pen.ledger();
  for (const GpuSeats::Row row : rows) {
    for (const Share& share : floor.seats()[row].placement) scratch.give(share);
  }
  Placement place;
  if (!place_locally(floor.cluster(), scratch, demand, Locality::kMinNodes, place)) {
    return std::nullopt;
  }
  return room_at(pen, floor, claim, rows, std::move(place));
}

std::optional<Room> room_anywhere(PlanWriter pen, GandivaFloor& floor, const Claim& claim,
                                  std::span<const GpuSeats::Row> rows, const Demand& demand) {
  ResourceLedger scratch = pen.ledger();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Share& share : floor.seats()[rows[i]].placement) scratch.give(share);
    Placement place;
    if (scratch.free_gpus(demand.gpu_type) < demand.gpus) continue;
    if (!place_spread(floor.cluster(), scratch, demand, place)) continue;
    auto room = room_at(pen, floor, claim, rows.first(i + 1), std::move(place));
    if (room) return room;
  }
  return std::nullopt;
}

// Prefers one node: a gang that starts spread would rarely be consolidated later.
std::optional<Room> find_room(PlanWriter pen, GandivaFloor& floor, const Claim& claim) {
  const std::vector<GpuSeats::Row> rows = seats_to_clear(pen, floor, claim);
  if (rows.empty()) return std::nullopt;
  const Demand demand = floor.demand_of(pen.spec(claim.job));
  const bool large = demand.gpus > floor.cluster().extent(demand.gpu_type).largest_gpus;
  std::optional<Room> room = large ? room_on_fewest_nodes(pen, floor, claim, rows, demand)
                                   : room_on_one_node(pen, floor, claim, rows, demand);
  return room ? room : room_anywhere(pen, floor, claim, rows, demand);
}

bool clear_and_start(PlanWriter pen, GandivaFloor& floor, const Claim& claim) {
  std::optional<Room> room = find_room(pen, floor, claim);
  return room && floor.start_instead(pen, claim.job, std::move(room->place), room->rows);
}

// Jobs that have been the oldest of their group for longer than kPatience.
std::vector<JobId> late_ones(const GandivaQueue& queue, Instant now) {
  std::vector<JobId> late;
  for (const GandivaQueue::Group& group : queue.groups()) {
    if (group.jobs.empty()) continue;
    if (group.oldest_since + GandivaRoom::kPatience <= now) late.push_back(group.oldest());
  }
  std::sort(late.begin(), late.end());
  return late;
}

// Returns jobs of the tenant whose place the job could take: they are time-sliced with the maximum
// number of jobs on GPUs that suit it.
std::vector<JobId> members_of_full_seats(PlanWriter pen, const GandivaFloor& floor, JobId job,
                                         std::size_t max_jobs) {
  std::vector<JobId> found;
  const JobSpec& spec = pen.spec(job);
  const GpuSeats& seats = floor.seats();
  const auto level = seats.levels().find({spec.gpus, max_jobs});
  if (max_jobs < 2 || level == seats.levels().end()) return found;
  for (const GpuSeats::Row row : level->second) {
    const GpuSeats::Seat& seat = seats[row];
    if (floor.is_suspect(seat.placement) || !floor.suits(spec, seat.placement)) continue;
    std::copy_if(seat.members.begin(), seat.members.end(), std::back_inserter(found),
                 [&](JobId member) {
                   return !floor.queue().has_tenants() || pen.spec(member).tenant == spec.tenant;
                 });
  }
  return found;
}

// Returns how long the job has held GPUs in total.
Duration held_in_all(PlanWriter pen, JobId job) {
  return Duration::micros(pen.view.facts(job).gpu_us / pen.spec(job).gpus);
}

// Keeps only jobs that would be within their tenant's entitlement without its younger jobs.
void keep_rightful(PlanWriter pen, const GandivaFloor& floor, std::vector<JobId>& late) {
  if (!floor.queue().has_tenants() || late.empty()) return;
  std::vector<std::tuple<TenantId, JobId, std::int32_t>> held;
  for (GpuSeats::Row row = 0; row < floor.seats().rows(); ++row) {
    for (const JobId job : floor.seats()[row].members) {
      held.emplace_back(pen.spec(job).tenant, job, pen.spec(job).gpus);
    }
  }
  std::sort(held.begin(), held.end());
  std::erase_if(late, [&](JobId job) {
    const JobSpec& spec = pen.spec(job);
    std::int64_t room = floor.queue().room(spec.tenant);
    for (auto each = std::upper_bound(held.begin(), held.end(), std::tuple{spec.tenant, job, 0});
         each != held.end() && std::get<TenantId>(*each) == spec.tenant; ++each) {
      room += std::get<std::int32_t>(*each);
    }
    return spec.gpus > room;
  });
}

}  // namespace

bool GandivaRoom::reclaim(PlanWriter pen, GandivaFloor& floor, JobId job) {
  if (!floor.queue().may_reclaim(pen.ledger().free_gpus())) return false;
  if (clear_and_start(pen, floor, {job, false, true})) return true;
  const bool in_time = floor.min_run() > Duration() && find_room(pen, floor, {job, false, false});
  if (in_time) floor.look_again();
  return false;
}

// Starts an overdue job in the place of the youngest job that it may replace.
bool GandivaRoom::replace_younger(PlanWriter pen, GandivaFloor& floor, JobId job) {
  JobId youngest = job;
  for (const JobId member : members_of_full_seats(pen, floor, job, max_jobs_)) {
    if (may_stop(pen, floor, {job, true, true}, member)) youngest = std::max(youngest, member);
  }
  return youngest != job && floor.swap(pen, youngest, job);
}

// Starts the job, or reserves GPUs for it. Returns false if neither is possible.
bool GandivaRoom::help(PlanWriter pen, GandivaFloor& floor, JobId job) {
  const JobSpec& spec = pen.spec(job);
  if (pen.ledger().free_gpus(spec.gpu_type) >= spec.gpus) {
    Placement place;
    const Demand demand = GandivaFloor::demand_of(spec);
    return place_anyhow(floor.cluster(), pen.ledger(), floor.seats(), demand, place) &&
           floor.start(pen, job, std::move(place));
  }
  if (replace_younger(pen, floor, job)) return true;
  if (clear_and_start(pen, floor, {job, true, true})) return true;
  if (!find_room(pen, floor, {job, true, false})) return false;
  awaited_ = Awaited{job, spec.gpu_type};
  return true;
}

void GandivaRoom::serve_overdue(PlanWriter pen, GandivaFloor& floor) {
  owners_wait_ = false;
  const Instant now = pen.now();
  if (awaited_ && !floor.queue().waits(awaited_->job)) awaited_.reset();
  if (now < check_at_) return;
  awaited_.reset();
  std::vector<JobId> overdue = late_ones(floor.queue(), now);
  if (overdue.empty()) return;
  keep_rightful(pen, floor, overdue);
  const bool helped =
      std::any_of(overdue.begin(), overdue.end(), [&](JobId job) { return help(pen, floor, job); });
  checked_ = now;
  check_at_ = now + (helped ? floor.slice() : kRecheck);
  seen_ = floor.seats().version();
}

void GandivaRoom::rotate_group(PlanWriter pen, GandivaFloor& floor, const Group& group) {
  std::vector<std::pair<Duration, JobId>> longest;
  for (const JobId member : members_of_full_seats(pen, floor, group.oldest(), max_jobs_)) {
    const Instant turn_ends = floor.placed(member) + std::max(kTurn, floor.min_run());
    if (turn_ends > pen.now()) {
      turn_ends_ = std::min(turn_ends_, turn_ends);
    } else if (floor.may_move(pen.view, member)) {
      longest.emplace_back(held_in_all(pen, member), member);
    }
  }
  std::sort(longest.begin(), longest.end());
  for (auto next = group.jobs.begin(); next != group.jobs.end() && !longest.empty();) {
    const JobId job = (next++)->second;  // swap() removes it from the group.
    const auto& [held, member] = longest.back();
    if (held < kTurn + held_in_all(pen, job) * 2 || !may_join(job, true)) continue;
    floor.swap(pen, member, job);
    longest.pop_back();
  }
}

void GandivaRoom::rotate(PlanWriter pen, GandivaFloor& floor) {
  if (floor.queue().empty() || pen.now() < rotate_at_) return;
  rotate_at_ = pen.now() + kRotation;
  turn_ends_ = Instant::never();
  for (const Group& group : floor.queue().groups()) {
    if (!group.jobs.empty()) rotate_group(pen, floor, group);
  }
}

void GandivaRoom::note_owners(const GandivaFloor& floor) {
  const GandivaQueue& queue = floor.queue();
  wanted_.assign(wanted_.size(), 0);
  for (const GandivaQueue::Group& group : queue.groups()) {
    if (group.jobs.empty() || !queue.is_own(group.tenant, group.gpus)) continue;
    owners_wait_ = true;
    if (group.gpu_type) {
      wanted_[*group.gpu_type] = 1;
    } else {
      wanted_.assign(wanted_.size(), 1);
    }
  }
}

bool GandivaRoom::is_barred(GpuTypeId type, JobId job, bool own) const {
  if (!own && wanted_[type] != 0) return true;
  return awaited_ && job > awaited_->job && (!awaited_->gpu_type || *awaited_->gpu_type == type);
}

bool GandivaRoom::may_join(JobId job, bool own) const {
  return (own || !owners_wait_) && (!awaited_ || job <= awaited_->job);
}

Instant GandivaRoom::next(const GandivaFloor& floor) const {
  const GandivaQueue& queue = floor.queue();
  Instant first = Instant::never();
  const bool nothing_new = !awaited_ && seen_ == floor.seats().version();
  for (const GandivaQueue::Group& group : queue.groups()) {
    if (group.jobs.empty()) continue;
    const Instant due = group.oldest_since + kPatience;
    if (due <= checked_ && nothing_new) continue;
    first = std::min(first, std::max(due, check_at_));
  }
  if (!queue.empty()) first = std::min(first, std::max(turn_ends_, rotate_at_));
  return first;
}

}  // namespace muster
