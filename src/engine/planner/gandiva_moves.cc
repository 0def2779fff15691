#include "engine/planner/gandiva_moves.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace muster {

namespace {

// Moves one member of the seat to idle GPUs.
bool spread_out(PlanWriter pen, GandivaFloor& floor, GpuSeats::Row row) {
  const std::vector<JobId>& members = floor.seats()[row].members;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    const Demand demand = floor.demand_of(pen.spec(*member));
    if (pen.ledger().free_gpus(demand.gpu_type) < demand.gpus) continue;
    if (!floor.may_move(pen.view, *member)) {
      floor.look_again();
      continue;
    }
    Placement place;
    if (!place_anyhow(floor.cluster(), pen.ledger(), floor.seats(), demand, place)) continue;
    if (!floor.move(pen, *member, std::move(place))) continue;
    floor.spend_moves(1);
    return true;
  }
  return false;
}

// Moves a job from the seat with the most members that fit on idle GPUs; time-sliced seats before
// packed ones.
bool relieve_one(PlanWriter pen, GandivaFloor& floor) {
  const GpuSeats& seats = floor.seats();
  using Level = GpuSeats::Levels::value_type;
  std::vector<const Level*> crowded;
  for (const Level& level : seats.levels()) {
    const auto& [gpus, members] = level.first;
    if (members > 1 && gpus <= pen.ledger().free_gpus()) crowded.push_back(&level);
  }
  std::stable_sort(crowded.begin(), crowded.end(), [](const Level* a, const Level* b) {
    return a->first.second > b->first.second;
  });
  const auto relieve = [&](GpuSeats::Row row) { return spread_out(pen, floor, row); };
  for (const Level* level : crowded) {
    if (std::any_of(level->second.begin(), level->second.end(), relieve)) return true;
  }
  return std::any_of(seats.packed().begin(), seats.packed().end(), [&](const auto& same_size) {
    return std::any_of(same_size.second.begin(), same_size.second.end(), relieve);
  });
}

// Two seats of equal size: the members of `from` can join `into`.
struct Fold {
  GpuSeats::Row from;
  GpuSeats::Row into;
  std::size_t members;  // In both groups.
};

// Members, nodes and row of the seats of one size, seats with few members first. With `wide`, seats
// with many nodes precede others with as many members.
using Seats = std::vector<std::tuple<std::size_t, std::int64_t, GpuSeats::Row>>;
Seats seats_of_size(const GpuSeats& seats, std::int32_t gpus, std::size_t max_members, bool wide) {
  Seats found;
  for (auto level = seats.levels().lower_bound({gpus, 1});
       level != seats.levels().end() && level->first.first == gpus &&
       level->first.second <= max_members;
       ++level) {
    for (const GpuSeats::Row row : level->second) {
      const auto nodes = static_cast<std::int64_t>(seats[row].placement.size());
      found.emplace_back(level->first.second, wide ? -nodes : nodes, row);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool may_take_part(PlanWriter pen, const GandivaFloor& floor, GpuSeats::Row row) {
  const GpuSeats::Seat& seat = floor.seats()[row];
  return !GandivaFloor::is_grown(pen, seat) && floor.trial(seat.members.front()) == 0 &&
         !floor.is_suspect(seat.placement);
}

// Whether all members of `from` may use the GPUs of `into`.
bool suit(PlanWriter pen, const GandivaFloor& floor, GpuSeats::Row from, GpuSeats::Row into) {
  const std::vector<JobId>& members = floor.seats()[from].members;
  return std::all_of(members.begin(), members.end(), [&](JobId job) {
    return floor.suits(pen.spec(job), floor.seats()[into].placement);
  });
}

// Returns two seats with `gpus` GPUs each, with the fewest members. Prefers to free the one with
// more nodes.
std::optional<Fold> fold_of(PlanWriter pen, GandivaFloor& floor, const JobSpec& spec,
                            std::int32_t gpus, std::size_t max_jobs) {
  const GpuSeats& seats = floor.seats();
  const auto may_move = [&](JobId member) { return floor.may_move(pen.view, member); };
  const Seats hosts = seats_of_size(seats, gpus, max_jobs - 1, false);
  for (const auto& [leaving, nodes, from] : seats_of_size(seats, gpus, max_jobs / 2, true)) {
    const std::vector<JobId>& members = seats[from].members;
    if (std::cmp_greater(leaving, floor.moves_left()) || !may_take_part(pen, floor, from)) continue;
    if (!floor.suits(spec, seats[from].placement)) continue;
    for (const auto& [staying, host_nodes, into] : hosts) {
      if (leaving + staying > max_jobs) break;
      if (into == from || !may_take_part(pen, floor, into) || !suit(pen, floor, from, into)) {
        continue;
      }
      if (std::all_of(members.begin(), members.end(), may_move)) {
        return Fold{from, into, leaving + staying};
      }
      floor.look_again();
      break;
    }
  }
  return std::nullopt;
}

// Whether the waiting jobs can use at least half of the GPUs that a seat of this size has.
bool is_useful(const GandivaFloor& floor, std::int32_t gpus) {
  return gpus <= 2 * floor.queue().waiting_gpus();
}

}  // namespace

bool may_fold(const GandivaFloor& floor, std::int32_t gpus, std::size_t max_jobs) {
  const GpuSeats::Levels& levels = floor.seats().levels();
  for (auto level = levels.lower_bound({gpus, 1}); level != levels.end(); ++level) {
    const auto& [size, members] = level->first;
    if (2 * members > max_jobs || !is_useful(floor, size)) continue;
    if (level->second.size() > 1) return true;
    const auto next = std::next(level);
    const bool is_same_size = next != levels.end() && next->first.first == size;
    if (is_same_size && members + next->first.second <= max_jobs) return true;
  }
  return false;
}

bool fold(PlanWriter pen, GandivaFloor& floor, JobId job, const Demand& demand,
          std::size_t max_jobs) {
  std::optional<Fold> best;
  const GpuSeats::Levels& levels = floor.seats().levels();
  for (auto level = levels.lower_bound({demand.gpus, 1}); level != levels.end();) {
    const std::int32_t gpus = level->first.first;
    level = levels.upper_bound({gpus, max_jobs});
    if (!is_useful(floor, gpus)) continue;
    const std::optional<Fold> found = fold_of(pen, floor, pen.spec(job), gpus, max_jobs);
    if (found && (!best || found->members < best->members)) best = found;
  }
  if (!best) return false;
  ResourceLedger scratch = pen.ledger();
  for (const Share& share : floor.seats()[best->from].placement) scratch.give(share);
  Placement place;
  return place_anyhow(floor.cluster(), scratch, floor.seats(), demand, place) &&
         floor.merge(pen, best->from, best->into) && floor.start(pen, job, std::move(place));
}

void rebalance(PlanWriter pen, GandivaFloor& floor) {
  const GpuSeats& seats = floor.seats();
  while (pen.ledger().free_gpus() > 0 && (seats.time_sliced() > 0 || !seats.packed().empty())) {
    if (floor.moves_left() <= 0) return floor.look_again();
    if (!relieve_one(pen, floor)) return;
  }
}

}  // namespace muster
