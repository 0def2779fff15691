#include "engine/planner/gandiva_growth.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

constexpr double kWorthGrowing = 1.1;  // Minimum speedup.

// Placement on the same node with `gpus` GPUs: its current GPUs plus the lowest free ones, or the
// lowest of its current GPUs.
Placement resized(const Cluster& cluster, const ResourceLedger& ledger, const GpuSeats::Seat& seat,
                  std::int32_t gpus) {
  Share share = seat.placement.front();
  share.slots = gpus > seat.gpus
                    ? share.slots | lowest_slots(ledger.free_slots(share.node), gpus - seat.gpus)
                    : lowest_slots(share.slots, gpus);
  const Resources& fair = cluster.fair(share.node);
  share.cpu_milli = fair.cpu_milli * gpus;
  share.mem_mib = fair.mem_mib * gpus;
  share.storage_kbps = fair.storage_kbps * gpus;
  return {share};
}

bool overlap(const Share& share, const Placement& placement) {
  return std::any_of(placement.begin(), placement.end(), [&](const Share& other) {
    return share.node == other.node && (share.slots & other.slots) != 0;
  });
}

}  // namespace

void GandivaGrowth::judge_one(PlanWriter pen, GandivaFloor& floor, Trial& trial) {
  const std::optional<double> reported = floor.reported(trial.job);
  if (!reported && trial.more > 0) {
    --trial.more;
    trial.until = pen.now() + floor.slice();
    return;
  }
  trial.until = Instant::never();
  floor.end_trial({trial.job});
  if (reported && *reported >= kWorthGrowing * trial.speed) return;
  sated_.insert(trial.job);
  const GpuSeats::Seat& seat = floor.seats().of(trial.job);
  MUSTER_CHECK(
      floor.move(pen, trial.job, resized(floor.cluster(), pen.ledger(), seat, trial.gpus)));
}

void GandivaGrowth::judge(PlanWriter pen, GandivaFloor& floor) {
  std::erase_if(trials_, [&](Trial& trial) {
    if (floor.trial(trial.job) != trial.id) return true;  // The trial was aborted.
    if (trial.until <= pen.now()) judge_one(pen, floor, trial);
    return trial.until == Instant::never();
  });
}

void GandivaGrowth::grow(PlanWriter pen, GandivaFloor& floor) {
  const ResourceLedger& ledger = pen.ledger();
  const std::vector<JobId> elastic(floor.elastic().begin(), floor.elastic().end());
  for (const JobId job : elastic) {
    const GpuSeats::Seat& seat = floor.seats().of(job);
    if (seat.placement.size() > 1 || sated_.contains(job) || floor.trial(job) != 0) continue;
    const Share& share = seat.placement.front();
    const std::int32_t idle = ledger.gpus_with(share.node, floor.cluster().fair(share.node));
    const std::int32_t gpus =
        std::min({2 * seat.gpus, pen.spec(job).most_gpus(), seat.gpus + idle});
    if (gpus <= seat.gpus) continue;
    const std::optional<double> speed = floor.reported(job);
    if (!speed || !floor.may_move(pen.view, job) || floor.moves_left() <= 0) {
      floor.look_again();
      continue;
    }
    const std::int32_t before = seat.gpus;
    MUSTER_CHECK(floor.move(pen, job, resized(floor.cluster(), ledger, seat, gpus)));
    floor.spend_moves(1);
    const std::uint32_t id = floor.begin_trial({job});
    trials_.push_back(
        {job, id, pen.now() + floor.slice(), GandivaFloor::kMoreSlices, before, *speed});
  }
}

bool GandivaGrowth::shrink_for(PlanWriter pen, GandivaFloor& floor, JobId job,
                               const Demand& demand) {
  if (floor.grown().empty()) return false;
  const Cluster& cluster = floor.cluster();
  std::vector<GandivaFloor::Shift> shrunk;
  ResourceLedger scratch = pen.ledger();
  Placement place;
  for (auto each = floor.grown().rbegin(); each != floor.grown().rend(); ++each) {
    const GpuSeats::Seat& seat = floor.seats().of(*each);
    if (floor.is_suspect(seat.placement)) continue;
    Placement smaller = resized(cluster, scratch, seat, pen.spec(*each).gpus);
    scratch.give(seat.placement.front());
    scratch.take(smaller.front());
    shrunk.push_back({floor.seats().row_of(*each), std::move(smaller)});
    if (scratch.free_gpus(demand.gpu_type) < demand.gpus) continue;
    if (place_together(cluster, scratch, floor.seats(), demand, place)) break;
  }
  if (place.empty() && !place_spread(cluster, scratch, demand, place)) return false;
  std::erase_if(shrunk, [&](const GandivaFloor::Shift& shift) {
    return !overlap(floor.seats()[shift.row].placement.front(), place);
  });
  return floor.rearrange(pen, shrunk) && floor.start(pen, job, std::move(place));
}

Instant GandivaGrowth::next() const {
  Instant first = Instant::never();
  for (const Trial& trial : trials_) first = std::min(first, trial.until);
  return first;
}

}  // namespace muster
