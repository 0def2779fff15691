// Consolidation of spread gangs, and moves of smaller jobs that free nodes for them.

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/planner/gandiva_moves.h"
#include "engine/planner/locality.h"

namespace muster {

namespace {

// Maximum number of nodes considered for clearing per gang.
constexpr std::size_t kNodesTried = 4;
// A job below this fraction of its expected speed suffers from its neighbors.
constexpr double kSlow = 0.9;

bool may_move_all(PlanWriter pen, const GandivaFloor& floor, const GpuSeats::Seat& seat) {
  return std::all_of(seat.members.begin(), seat.members.end(),
                     [&](JobId job) { return floor.may_move(pen.view, job); });
}

// Returns the seats to move so that `missing` more GPUs of a node become free. Candidates are only
// on this node and smaller than the new gang. Prefers large seats with few members, to move few
// jobs. Empty if they are not enough.
std::vector<GpuSeats::Row> seats_to_move(PlanWriter pen, const GandivaFloor& floor, NodeId node,
                                         std::int32_t missing, std::int32_t smaller_than) {
  std::vector<std::tuple<std::int32_t, std::size_t, GpuSeats::Row>> small;
  for (const GpuSeats::Row row : floor.seats().on(node)) {
    const GpuSeats::Seat& seat = floor.seats()[row];
    if (seat.placement.size() > 1 || seat.gpus >= smaller_than) continue;
    if (GandivaFloor::is_grown(pen, seat) || !may_move_all(pen, floor, seat)) continue;
    small.emplace_back(-seat.gpus, seat.members.size(), row);
  }
  std::sort(small.begin(), small.end());
  std::vector<GpuSeats::Row> chosen;
  std::erase_if(small, [&](const auto& each) {
    const std::int32_t gpus = -std::get<0>(each);
    if (gpus > missing) return false;
    missing -= gpus;
    chosen.push_back(std::get<2>(each));
    return true;
  });
  if (missing > 0 && !small.empty()) {  // Every remaining seat is larger than `missing`.
    missing -= -std::get<0>(small.back());
    chosen.push_back(std::get<2>(small.back()));
  }
  if (missing > 0) chosen.clear();
  return chosen;
}

// A way to free a node for a gang: the seats that move, each to one other node, and the gang's
// place.
struct Clearing {
  std::vector<GandivaFloor::Shift> shifts;
  Placement place;
};

// Finds a clearing with the free GPUs in `scratch` and at most `moves` moves.
std::optional<Clearing> clearing(PlanWriter pen, const GandivaFloor& floor, ResourceLedger scratch,
                                 NodeId node, const Demand& demand, int moves) {
  Share whole;
  whole.node = node;
  whole.slots = scratch.free_slots(node);
  const std::int32_t missing = demand.gpus - whole.gpus();
  const std::vector<GpuSeats::Row> rows = seats_to_move(pen, floor, node, missing, demand.gpus);
  if (rows.empty()) return std::nullopt;
  if (whole.slots != 0) scratch.take(whole);  // No job may move to this node.
  Clearing found;
  for (const GpuSeats::Row row : rows) {
    const GpuSeats::Seat& seat = floor.seats()[row];
    Placement place;
    moves -= static_cast<int>(seat.members.size());
    if (moves < 0) return std::nullopt;
    const Demand theirs = GandivaFloor::demand_of(pen, seat);
    if (!place_together(floor.cluster(), scratch, floor.seats(), theirs, place)) {
      return std::nullopt;
    }
    scratch.take(place.front());
    whole.slots |= seat.placement.front().slots;
    found.shifts.push_back({row, std::move(place)});
  }
  const Resources& fair = floor.cluster().fair(node);
  found.place = {{node, lowest_slots(whole.slots, demand.gpus), fair.cpu_milli * demand.gpus,
                  fair.mem_mib * demand.gpus, fair.storage_kbps * demand.gpus}};
  return found;
}

// Returns the nodes that lack the fewest GPUs for the gang.
std::vector<NodeId> nearest_nodes(const Cluster& cluster, const ResourceLedger& ledger,
                                  const Demand& demand) {
  std::vector<std::pair<std::int32_t, NodeId>> nodes;
  for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node();
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(cluster, node)) continue;
    if (cluster.topology().node(node).capacity.gpus < demand.gpus) continue;
    nodes.emplace_back(demand.gpus - ledger.free_gpus(node), node);
  }
  std::sort(nodes.begin(), nodes.end());
  std::vector<NodeId> nearest;
  for (const auto& [lacking, node] : nodes) {
    if (nearest.size() < kNodesTried) nearest.push_back(node);
  }
  return nearest;
}

// Whether fewer nodes could hold the gang, ignoring racks.
bool may_need_fewer(const ResourceLedger& ledger, const GpuSeats::Seat& seat) {
  std::vector<std::int32_t> room;
  for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node();
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    room.push_back(ledger.free_gpus(node));
    for (const Share& share : seat.placement) {
      if (share.node == node) room.back() += share.gpus();
    }
  }
  for (const Share& share : seat.placement) {
    if (ledger.free_gpus(share.node) == 0) room.push_back(share.gpus());
  }
  const std::size_t fewer = std::min(room.size(), seat.placement.size() - 1);
  std::partial_sort(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(fewer), room.end(),
                    std::greater<>());
  std::int32_t left = seat.gpus;
  for (std::size_t i = 0; i < fewer; ++i) left -= room[i];
  return left <= 0;
}

bool has_neighbors(const GpuSeats& seats, GpuSeats::Row row, const Placement& placement) {
  return std::any_of(placement.begin(), placement.end(), [&](const Share& share) {
    const std::vector<GpuSeats::Row>& here = seats.on(share.node);
    return std::any_of(here.begin(), here.end(),
                       [row](GpuSeats::Row other) { return other != row; });
  });
}

// Returns a place with fewer nodes or, if the job suffers from its neighbors, one without
// neighbors.
std::optional<Placement> better_place(PlanWriter pen, const GandivaFloor& floor,
                                      GpuSeats::Row row) {
  const GpuSeats::Seat& seat = floor.seats()[row];
  const JobId job = seat.members.front();
  if (!pen.view.is_placed(job)) return std::nullopt;
  const std::optional<double> reported = floor.reported(job);
  const bool suffers = !seat.shared() && reported && *reported < kSlow * pen.view.speed(job) &&
                       has_neighbors(floor.seats(), row, seat.placement);
  if (!suffers && !may_need_fewer(pen.ledger(), seat)) return std::nullopt;
  ResourceLedger scratch = pen.ledger();
  for (const Share& share : seat.placement) scratch.give(share);
  const Demand demand = GandivaFloor::demand_of(pen, seat);
  Placement place;
  if (!place_together(floor.cluster(), scratch, floor.seats(), demand, place) &&
      !place_locally(floor.cluster(), scratch, demand, Locality::kMinNodes, place)) {
    return std::nullopt;
  }
  const bool calmer =
      suffers && place.size() <= seat.placement.size() && !has_neighbors(floor.seats(), row, place);
  if (place.size() >= seat.placement.size() && !calmer) return std::nullopt;
  if (floor.cluster().speed(pen.spec(job), place) < pen.view.speed(job)) return std::nullopt;
  return place;
}

// Moves a spread gang to one node, and smaller jobs to its previous GPUs.
bool exchange(PlanWriter pen, GandivaFloor& floor, GpuSeats::Row row) {
  const GpuSeats::Seat& seat = floor.seats()[row];
  const int moves = floor.moves_left() - static_cast<int>(seat.members.size());
  if (moves <= 0 || !may_move_all(pen, floor, seat)) return false;
  const Demand demand = GandivaFloor::demand_of(pen, seat);
  ResourceLedger vacated = pen.ledger();
  for (const Share& share : seat.placement) vacated.give(share);
  for (const NodeId node : nearest_nodes(floor.cluster(), vacated, demand)) {
    std::optional<Clearing> found = clearing(pen, floor, vacated, node, demand, moves);
    if (!found) continue;
    found->shifts.push_back({row, std::move(found->place)});
    return floor.rearrange(pen, found->shifts);
  }
  return false;
}

}  // namespace

bool defragment(PlanWriter pen, GandivaFloor& floor, JobId job, const Demand& demand) {
  for (const NodeId node : nearest_nodes(floor.cluster(), pen.ledger(), demand)) {
    std::optional<Clearing> found =
        clearing(pen, floor, pen.ledger(), node, demand, floor.moves_left());
    if (!found || !floor.rearrange(pen, found->shifts)) continue;
    return floor.start(pen, job, std::move(found->place));
  }
  return false;
}

void gather(PlanWriter pen, GandivaFloor& floor) {
  if (pen.ledger().free_gpus() == 0) return;
  const GpuSeats& seats = floor.seats();
  const std::vector<GpuSeats::Row> spread(seats.spread().begin(), seats.spread().end());
  for (const GpuSeats::Row row : spread) {
    if (!seats.spread().contains(row)) continue;
    std::optional<Placement> place = better_place(pen, floor, row);
    if (!place) continue;
    const bool too_many = std::cmp_greater(seats[row].members.size(), floor.moves_left());
    if (too_many || !may_move_all(pen, floor, seats[row])) {
      floor.look_again();
      continue;
    }
    floor.rearrange(pen, {{row, std::move(*place)}});
  }
}

void GandivaExchange::attempt(PlanWriter pen, GandivaFloor& floor) {
  const std::set<GpuSeats::Row>& spread = floor.seats().spread();
  if (spread.empty() || pen.now() < attempt_at_) return;
  attempt_at_ = pen.now() + floor.slice();
  auto next = spread.upper_bound(cursor_);
  if (next == spread.end()) next = spread.begin();
  cursor_ = *next;
  exchange(pen, floor, cursor_);
}

}  // namespace muster
