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

// Maximum number of nodes, or sets of nodes, considered per gang.
constexpr std::size_t kMaxTried = 4;
// A job below this fraction of its expected speed suffers from its neighbors.
constexpr double kSlow = 0.9;

// Slices until the next exchange after one that was impossible.
constexpr std::int64_t kSlicesAfterFailure = 5;

using Nodes = std::vector<NodeId>;

bool may_move_all(PlanWriter pen, const GandivaFloor& floor, const GpuSeats::Seat& seat) {
  return std::all_of(seat.members.begin(), seat.members.end(),
                     [&](JobId job) { return floor.may_move(pen.view, job); });
}

// Returns the minimum number of nodes for the gang on an empty cluster.
std::size_t min_nodes(const Cluster& cluster, const Demand& demand) {
  const std::int32_t largest = cluster.extent(demand.gpu_type).largest_gpus;
  return static_cast<std::size_t>((demand.gpus + largest - 1) / largest);
}

// Returns the seats to move so that `missing` more GPUs of a node become free. Candidates are only
// on this node and smaller than `smaller_than`. Prefers large seats with few members, to move few
// jobs. Empty if they are not enough.
std::vector<GpuSeats::Row> seats_to_move(PlanWriter pen, const GandivaFloor& floor, NodeId node,
                                         std::int32_t missing, std::int32_t smaller_than) {
  std::vector<std::tuple<std::int32_t, std::size_t, GpuSeats::Row>> small;
  for (const GpuSeats::Row row : floor.seats().on(node)) {
    const GpuSeats::Seat& seat = floor.seats()[row];
    if (seat.placement.size() > 1 || seat.gpus >= smaller_than) continue;
    if (GandivaFloor::is_grown(pen, seat) || !may_move_all(pen, floor, seat)) continue;
    if (pen.view.is_on_closed(seat.members.front())) return {};
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

std::int32_t capacity(const GandivaFloor& floor, NodeId node) {
  return floor.cluster().topology().node(node).capacity.gpus;
}

// The part of a clearing on one node: its seats that move, and the gang's share.
struct Part {
  std::vector<GpuSeats::Row> rows;
  Share share;
};

// Splits the gang over these nodes: all GPUs of each, and the rest on the last.
std::optional<std::vector<Part>> split(PlanWriter pen, const GandivaFloor& floor,
                                       const ResourceLedger& idle, const Nodes& nodes,
                                       const Demand& demand) {
  std::vector<Part> parts;
  std::int32_t left = demand.gpus;
  for (const NodeId node : nodes) {
    const std::int32_t gpus = std::min(left, capacity(floor, node));
    left -= gpus;
    const Resources& fair = floor.cluster().fair(node);
    SlotMask slots = idle.free_slots(node);
    Part part;
    if (const std::int32_t missing = gpus - idle.free_gpus(node); missing > 0) {
      const std::int32_t smaller_than = std::min(demand.gpus, capacity(floor, node));
      part.rows = seats_to_move(pen, floor, node, missing, smaller_than);
      if (part.rows.empty()) return std::nullopt;
    }
    for (const GpuSeats::Row row : part.rows) slots |= floor.seats()[row].placement.front().slots;
    part.share = {node, lowest_slots(slots, gpus), fair.cpu_milli * gpus, fair.mem_mib * gpus,
                  fair.storage_kbps * gpus};
    parts.push_back(std::move(part));
  }
  return parts;
}

// A way to free nodes for a gang: the seats that move, each to one other node, and the gang's
// place.
struct Clearing {
  std::vector<GandivaFloor::Shift> shifts;
  Placement place;
};

// Finds a clearing of these nodes with the free GPUs in `scratch` and at most `moves` moves.
std::optional<Clearing> clearing(PlanWriter pen, const GandivaFloor& floor, ResourceLedger scratch,
                                 const Nodes& nodes, const Demand& demand, int moves) {
  const auto parts = split(pen, floor, scratch, nodes, demand);
  if (!parts) return std::nullopt;
  for (const NodeId node : nodes) {  // No job may move to these nodes.
    Share rest;
    rest.node = node;
    rest.slots = scratch.free_slots(node);
    if (rest.slots != 0) scratch.take(rest);
  }
  Clearing found;
  for (const Part& part : *parts) {
    for (const GpuSeats::Row row : part.rows) {
      const GpuSeats::Seat& seat = floor.seats()[row];
      Placement place;
      moves -= static_cast<int>(seat.members.size());
      if (moves < 0) return std::nullopt;
      const Demand theirs = GandivaFloor::demand_of(pen, seat);
      if (!place_together(floor.cluster(), scratch, floor.seats(), theirs, place)) {
        return std::nullopt;
      }
      scratch.take(place.front());
      found.shifts.push_back({row, std::move(place)});
    }
    found.place.push_back(part.share);
  }
  std::sort(found.place.begin(), found.place.end(),
            [](const Share& a, const Share& b) { return a.node < b.node; });
  return found;
}

// Nodes for a gang, with the number of GPUs that they lack.
using Candidates = std::vector<std::pair<std::int32_t, Nodes>>;

// Returns single nodes for a gang that fits on one.
Candidates nodes_for(const GandivaFloor& floor, const ResourceLedger& idle, const Demand& demand) {
  Candidates found;
  for (NodeId node = idle.next_with_free(NodeId(0)); node != idle.no_node();
       node = idle.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(floor.cluster(), node) || capacity(floor, node) < demand.gpus) continue;
    found.push_back({demand.gpus - idle.free_gpus(node), {node}});
  }
  return found;
}

// Returns sets of nodes for a gang that needs several, one set per rack: the largest nodes that can
// be cleared and lack the fewest GPUs.
Candidates sets_for(PlanWriter pen, const GandivaFloor& floor, const ResourceLedger& idle,
                    const Demand& demand) {
  const Topology& topology = floor.cluster().topology();
  const std::int32_t largest = floor.cluster().extent(demand.gpu_type).largest_gpus;
  std::vector<std::vector<std::pair<std::int32_t, NodeId>>> racks(topology.rack_count());
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    if (!demand.allows(floor.cluster(), node) || capacity(floor, node) < largest) continue;
    racks[topology.node(node).rack.index()].emplace_back(largest - idle.free_gpus(node), node);
  }
  const std::size_t count = min_nodes(floor.cluster(), demand);
  Candidates found;
  for (auto& rack : racks) {
    std::sort(rack.begin(), rack.end());
    std::pair<std::int32_t, Nodes> set;
    for (const auto& [missing, node] : rack) {
      if (set.second.size() == count) break;
      if (missing > 0 && seats_to_move(pen, floor, node, missing, largest).empty()) continue;
      set.first += missing;
      set.second.push_back(node);
    }
    if (set.second.size() == count) found.push_back(std::move(set));
  }
  return found;
}

// Returns a way to place the gang on as few nodes as possible, all in one rack, with at most
// `moves` moves of other jobs. `idle` contains the GPUs that can be used; it may differ from the
// draft.
std::optional<Clearing> find_clearing(PlanWriter pen, const GandivaFloor& floor,
                                      const ResourceLedger& idle, const Demand& demand, int moves) {
  const bool several = min_nodes(floor.cluster(), demand) > 1;
  Candidates nearest =
      several ? sets_for(pen, floor, idle, demand) : nodes_for(floor, idle, demand);
  std::sort(nearest.begin(), nearest.end());
  if (nearest.size() > kMaxTried) nearest.resize(kMaxTried);
  for (const auto& [lacking, nodes] : nearest) {
    if (auto found = clearing(pen, floor, idle, nodes, demand, moves)) return found;
  }
  return std::nullopt;
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

bool is_in_one_rack(const Topology& topology, const Placement& placement) {
  const RackId rack = topology.node(placement.front().node).rack;
  return std::all_of(placement.begin(), placement.end(),
                     [&](const Share& share) { return topology.node(share.node).rack == rack; });
}

// Whether the gang could use fewer nodes or racks on an empty cluster.
bool is_scattered(PlanWriter pen, const GandivaFloor& floor, const GpuSeats::Seat& seat) {
  return seat.placement.size() > min_nodes(floor.cluster(), GandivaFloor::demand_of(pen, seat)) ||
         !is_in_one_rack(floor.cluster().topology(), seat.placement);
}

// Moves a spread gang to as few nodes as possible, and smaller jobs to its previous GPUs. Returns
// false if there is no way to do so.
bool exchange(PlanWriter pen, GandivaFloor& floor, GpuSeats::Row row) {
  const GpuSeats::Seat& seat = floor.seats()[row];
  const int moves = floor.moves_left() - static_cast<int>(seat.members.size());
  if (moves <= 0 || !may_move_all(pen, floor, seat)) return true;  // It may be possible later.
  ResourceLedger vacated = pen.ledger();
  for (const Share& share : seat.placement) vacated.give(share);
  auto found = find_clearing(pen, floor, vacated, GandivaFloor::demand_of(pen, seat), moves);
  if (!found) return false;
  found->shifts.push_back({row, std::move(found->place)});
  floor.rearrange(pen, found->shifts);
  return true;
}

}  // namespace

bool defragment(PlanWriter pen, GandivaFloor& floor, JobId job, const Demand& demand) {
  std::optional<Clearing> found =
      find_clearing(pen, floor, pen.ledger(), demand, floor.moves_left());
  return found && floor.rearrange(pen, found->shifts) &&
         floor.start(pen, job, std::move(found->place));
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
  for (std::size_t rest = spread.size(); rest > 0; --rest) {
    auto next = spread.upper_bound(cursor_);
    if (next == spread.end()) next = spread.begin();
    cursor_ = *next;
    if (!is_scattered(pen, floor, floor.seats()[cursor_])) continue;
    if (!exchange(pen, floor, cursor_))
      attempt_at_ = pen.now() + floor.slice() * kSlicesAfterFailure;
    return;
  }
}

}  // namespace muster
