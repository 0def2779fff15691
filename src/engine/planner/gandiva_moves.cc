#include "engine/planner/gandiva_moves.h"

#include <algorithm>
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

}  // namespace

void rebalance(PlanWriter pen, GandivaFloor& floor) {
  const GpuSeats& seats = floor.seats();
  while (pen.ledger().free_gpus() > 0 && (seats.time_sliced() > 0 || !seats.packed().empty())) {
    if (floor.moves_left() <= 0) return floor.look_again();
    if (!relieve_one(pen, floor)) return;
  }
}

}  // namespace muster
