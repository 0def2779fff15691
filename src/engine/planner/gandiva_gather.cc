// Gandiva's gangs that come together, and the smaller ones that make room for them.

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

// Servers that are looked at to be emptied for one gang.
constexpr std::size_t kServersTried = 4;
// Slower than this part of what was believed, a job is taken to suffer.
constexpr double kSlow = 0.9;

bool may_move_all(Pen pen, const GandivaFloor& floor, const Seats::Seat& seat) {
  return std::all_of(seat.members.begin(), seat.members.end(),
                     [&](JobId job) { return floor.may_move(pen.view, job); });
}

// Seats to move so that `missing` more GPUs of a server are free: those on it alone and smaller
// than the gang they make room for. As large ones as will do, and of few jobs, to move few. None if
// that does not do.
std::vector<Seats::Row> seats_to_move(Pen pen, const GandivaFloor& floor, NodeId node,
                                      std::int32_t missing, std::int32_t smaller_than) {
  std::vector<std::tuple<std::int32_t, std::size_t, Seats::Row>> small;
  for (const Seats::Row row : floor.seats().on(node)) {
    const Seats::Seat& seat = floor.seats()[row];
    if (seat.placement.size() > 1 || seat.gpus >= smaller_than) continue;
    if (GandivaFloor::is_grown(pen, seat) || !may_move_all(pen, floor, seat)) continue;
    small.emplace_back(-seat.gpus, seat.members.size(), row);
  }
  std::sort(small.begin(), small.end());
  std::vector<Seats::Row> chosen;
  std::erase_if(small, [&](const auto& each) {
    const std::int32_t gpus = -std::get<0>(each);
    if (gpus > missing) return false;
    missing -= gpus;
    chosen.push_back(std::get<2>(each));
    return true;
  });
  if (missing > 0 && !small.empty()) {  // Each of them is larger than that.
    missing -= -std::get<0>(small.back());
    chosen.push_back(std::get<2>(small.back()));
  }
  if (missing > 0) chosen.clear();
  return chosen;
}

// How a server comes to have a gang's GPUs: who leaves it, each for one other server, and the
// gang's place then.
struct Clearing {
  std::vector<GandivaFloor::Shift> shifts;
  Placement place;
};

// On what is free in `scratch`, with so many moves at most.
std::optional<Clearing> clearing(Pen pen, const GandivaFloor& floor, Books scratch, NodeId node,
                                 const Demand& demand, int moves) {
  Share whole;
  whole.node = node;
  whole.slots = scratch.free_slots(node);
  const std::int32_t missing = demand.gpus - whole.gpus();
  const std::vector<Seats::Row> rows = seats_to_move(pen, floor, node, missing, demand.gpus);
  if (rows.empty()) return std::nullopt;
  if (whole.slots != 0) scratch.take(whole);  // Nobody shall go there.
  Clearing found;
  for (const Seats::Row row : rows) {
    const Seats::Seat& seat = floor.seats()[row];
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

// The servers that lack the fewest GPUs of the gang.
std::vector<NodeId> nearest_servers(const Cluster& cluster, const Books& books,
                                    const Demand& demand) {
  std::vector<std::pair<std::int32_t, NodeId>> servers;
  for (NodeId node = books.next_with_free(NodeId(0)); node != books.no_node();
       node = books.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(cluster, node)) continue;
    if (cluster.topology().node(node).capacity.gpus < demand.gpus) continue;
    servers.emplace_back(demand.gpus - books.free_gpus(node), node);
  }
  std::sort(servers.begin(), servers.end());
  std::vector<NodeId> nearest;
  for (const auto& [lacking, node] : servers) {
    if (nearest.size() < kServersTried) nearest.push_back(node);
  }
  return nearest;
}

// Whether fewer servers than it has could hold a gang, if racks were of no account.
bool may_need_fewer(const Books& books, const Seats::Seat& seat) {
  std::vector<std::int32_t> room;
  for (NodeId node = books.next_with_free(NodeId(0)); node != books.no_node();
       node = books.next_with_free(NodeId(node.index() + 1))) {
    room.push_back(books.free_gpus(node));
    for (const Share& share : seat.placement) {
      if (share.node == node) room.back() += share.gpus();
    }
  }
  for (const Share& share : seat.placement) {
    if (books.free_gpus(share.node) == 0) room.push_back(share.gpus());
  }
  const std::size_t fewer = std::min(room.size(), seat.placement.size() - 1);
  std::partial_sort(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(fewer), room.end(),
                    std::greater<>());
  std::int32_t left = seat.gpus;
  for (std::size_t i = 0; i < fewer; ++i) left -= room[i];
  return left <= 0;
}

bool has_neighbours(const Seats& seats, Seats::Row row, const Placement& placement) {
  return std::any_of(placement.begin(), placement.end(), [&](const Share& share) {
    const std::vector<Seats::Row>& here = seats.on(share.node);
    return std::any_of(here.begin(), here.end(), [row](Seats::Row other) { return other != row; });
  });
}

// A place with fewer servers, or if it suffers from its neighbours, with none.
std::optional<Placement> better_place(Pen pen, const GandivaFloor& floor, Seats::Row row) {
  const Seats::Seat& seat = floor.seats()[row];
  const JobId job = seat.members.front();
  if (!pen.view.is_placed(job)) return std::nullopt;
  const std::optional<double> reported = floor.reported(job);
  const bool suffers = !seat.shared() && reported && *reported < kSlow * pen.view.speed(job) &&
                       has_neighbours(floor.seats(), row, seat.placement);
  if (!suffers && !may_need_fewer(pen.books(), seat)) return std::nullopt;
  Books scratch = pen.books();
  for (const Share& share : seat.placement) scratch.give(share);
  const Demand demand = GandivaFloor::demand_of(pen, seat);
  Placement place;
  if (!place_together(floor.cluster(), scratch, floor.seats(), demand, place) &&
      !place_locally(floor.cluster(), scratch, demand, Locality::kFewestServers, place)) {
    return std::nullopt;
  }
  const bool calmer = suffers && place.size() <= seat.placement.size() &&
                      !has_neighbours(floor.seats(), row, place);
  if (place.size() >= seat.placement.size() && !calmer) return std::nullopt;
  if (floor.cluster().speed(pen.spec(job), place) < pen.view.speed(job)) return std::nullopt;
  return place;
}

// A spread gang gets one server, and smaller ones what it had before.
bool exchange(Pen pen, GandivaFloor& floor, Seats::Row row) {
  const Seats::Seat& seat = floor.seats()[row];
  const int moves = floor.moves_left() - static_cast<int>(seat.members.size());
  if (moves <= 0 || !may_move_all(pen, floor, seat)) return false;
  const Demand demand = GandivaFloor::demand_of(pen, seat);
  Books vacated = pen.books();
  for (const Share& share : seat.placement) vacated.give(share);
  for (const NodeId node : nearest_servers(floor.cluster(), vacated, demand)) {
    std::optional<Clearing> found = clearing(pen, floor, vacated, node, demand, moves);
    if (!found) continue;
    found->shifts.push_back({row, std::move(found->place)});
    return floor.rearrange(pen, found->shifts);
  }
  return false;
}

}  // namespace

bool defragment(Pen pen, GandivaFloor& floor, JobId job, const Demand& demand) {
  for (const NodeId node : nearest_servers(floor.cluster(), pen.books(), demand)) {
    std::optional<Clearing> found =
        clearing(pen, floor, pen.books(), node, demand, floor.moves_left());
    if (!found || !floor.rearrange(pen, found->shifts)) continue;
    return floor.start(pen, job, std::move(found->place));
  }
  return false;
}

void gather(Pen pen, GandivaFloor& floor) {
  if (pen.books().free_gpus() == 0) return;
  const Seats& seats = floor.seats();
  const std::vector<Seats::Row> spread(seats.spread().begin(), seats.spread().end());
  for (const Seats::Row row : spread) {
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

void GandivaExchange::attempt(Pen pen, GandivaFloor& floor) {
  const std::set<Seats::Row>& spread = floor.seats().spread();
  if (spread.empty() || pen.now() < attempt_at_) return;
  attempt_at_ = pen.now() + floor.slice();
  auto next = spread.upper_bound(cursor_);
  if (next == spread.end()) next = spread.begin();
  cursor_ = *next;
  exchange(pen, floor, cursor_);
}

}  // namespace muster
