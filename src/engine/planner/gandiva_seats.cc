#include "engine/planner/gandiva_seats.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "base/types/check.h"
#include "engine/planner/locality.h"

namespace muster {

GpuSeats::GpuSeats(const Cluster& cluster)
    : cluster_(&cluster),
      on_(cluster.topology().node_count()),
      held_(cluster.topology().node_count()) {}

std::size_t GpuSeats::class_of(std::int32_t gpus) const {
  const std::int32_t largest = cluster_->topology().largest_node_gpus();
  const auto size = static_cast<std::uint32_t>(std::min(gpus, largest));
  return static_cast<std::size_t>(std::bit_width(std::bit_ceil(size)) - 1);
}

bool GpuSeats::has_affinity(NodeId node, std::int32_t gpus) const {
  const auto& held = held_[node];
  const std::size_t mine = class_of(gpus);
  for (std::size_t other = 0; other < kClasses; ++other) {
    if (other > mine ? held[other] >= held[mine] : held[other] > held[mine]) return false;
  }
  return held[mine] > 0;
}

std::int32_t GpuSeats::held(NodeId node) const {
  return std::accumulate(held_[node].begin(), held_[node].end(), 0);
}

// Adds the seat to the indexes. Every change of a seat calls unlist() before and list() after.
void GpuSeats::list(Row row) {
  const Seat& seat = seats_[row];
  ++version_;
  if (seat.members.empty()) return;
  if (seat.packed()) {
    packed_[seat.gpus].insert(row);
  } else {
    levels_[{seat.gpus, seat.members.size()}].insert(row);
    if (seat.shared()) ++time_sliced_;
  }
}

void GpuSeats::unlist(Row row) {
  const Seat& seat = seats_[row];
  if (seat.members.empty()) return;
  if (seat.packed()) {
    const auto same_size = packed_.find(seat.gpus);
    same_size->second.erase(row);
    if (same_size->second.empty()) packed_.erase(same_size);
    return;
  }
  if (seat.shared()) --time_sliced_;
  const auto level = levels_.find({seat.gpus, seat.members.size()});
  level->second.erase(row);
  if (level->second.empty()) levels_.erase(level);
}

void GpuSeats::occupy(Row row) {
  const Seat& seat = seats_[row];
  if (seat.placement.size() > 1) spread_.insert(row);
  for (const Share& share : seat.placement) {
    on_[share.node].push_back(row);
    held_[share.node][class_of(seat.gpus)] += share.gpus();
  }
  held_in_all_ += seat.gpus;
}

void GpuSeats::vacate(Row row) {
  const Seat& seat = seats_[row];
  spread_.erase(row);
  for (const Share& share : seat.placement) {
    std::erase(on_[share.node], row);
    held_[share.node][class_of(seat.gpus)] -= share.gpus();
  }
  held_in_all_ -= seat.gpus;
  unused_.push_back(row);
}

void GpuSeats::sit(JobId job, Placement placement) {
  if (!row_of_.contains(job)) row_of_.resize(job.index() + 1, kNowhere);
  MUSTER_CHECK(row_of_[job] == kNowhere);
  Row row;
  if (unused_.empty()) {
    row = static_cast<Row>(seats_.size());
    seats_.emplace_back();
  } else {
    row = unused_.back();
    unused_.pop_back();
  }
  Seat& seat = seats_[row];
  seat.members = {job};
  seat.placement = std::move(placement);
  seat.gpus = total_of(seat.placement).gpus;
  seat.manner = SharingMode::kTimeSliced;
  row_of_[job] = row;
  occupy(row);
  list(row);
}

void GpuSeats::join(JobId job, Row row, SharingMode manner) {
  if (!row_of_.contains(job)) row_of_.resize(job.index() + 1, kNowhere);
  MUSTER_CHECK(row_of_[job] == kNowhere);
  unlist(row);
  seats_[row].members.push_back(job);
  seats_[row].manner = manner;
  row_of_[job] = row;
  list(row);
}

void GpuSeats::leave(JobId job) {
  MUSTER_CHECK(has(job));
  const Row row = std::exchange(row_of_[job], kNowhere);
  unlist(row);
  std::erase(seats_[row].members, job);
  if (seats_[row].members.empty()) vacate(row);
  list(row);
}

void GpuSeats::set_manner(Row row, SharingMode manner) {
  unlist(row);
  seats_[row].manner = manner;
  list(row);
}

bool place_together(const Cluster& cluster, const ResourceLedger& ledger, const GpuSeats& seats,
                    const Demand& demand, Placement& out) {
  out.clear();
  std::tuple<int, std::int32_t, NodeId> best{3, 0, NodeId()};
  for (NodeId node = ledger.next_with_free(NodeId(0)); node != ledger.no_node();
       node = ledger.next_with_free(NodeId(node.index() + 1))) {
    if (!demand.allows(cluster, node)) continue;
    if (!ledger.can_serve(node, demand.appetite(cluster, node), demand.gpus)) continue;
    const std::int32_t left = ledger.free_gpus(node);
    std::tuple<int, std::int32_t, NodeId> here{2, left, node};
    if (seats.has_affinity(node, demand.gpus)) {
      here = {0, -left, node};
    } else if (seats.on(node).empty()) {
      here = {1, left, node};
    }
    best = std::min(best, here);
  }
  if (std::get<0>(best) == 3) return false;
  out.push_back(make_share(cluster, ledger, demand, std::get<2>(best), demand.gpus));
  return true;
}

bool place_spread(const Cluster& cluster, const ResourceLedger& ledger, const Demand& demand,
                  Placement& out) {
  return place_locally(cluster, ledger, demand, Locality::kMinNodes, out) ||
         place_locally(cluster, ledger, demand, Locality::kOneRack, out) ||
         place_locally(cluster, ledger, demand, Locality::kAnywhere, out);
}

bool place_anyhow(const Cluster& cluster, const ResourceLedger& ledger, const GpuSeats& seats,
                  const Demand& demand, Placement& out) {
  return place_together(cluster, ledger, seats, demand, out) ||
         place_spread(cluster, ledger, demand, out);
}

}  // namespace muster
