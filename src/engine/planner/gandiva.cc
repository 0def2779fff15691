#include "engine/planner/gandiva.h"

#include <algorithm>

#include "base/types/check.h"
#include "engine/planner/locality.h"

namespace muster {

Gandiva::Gandiva(const Cluster& cluster, const GandivaOptions& options)
    : cluster_(&cluster),
      most_jobs_(static_cast<std::size_t>(options.most_jobs)),
      floor_(cluster, options.tenants, options.slice, options.min_run),
      room_(cluster, most_jobs_),
      packs_(options.pairs) {
  MUSTER_CHECK(options.slice > Duration() && options.most_jobs >= 1);
}

std::optional<std::string> Gandiva::refuse(const JobSpec& spec) {
  if (spec.is_particular())
    return "requests CPUs, memory or a spread, which Gandiva does not support";
  return cluster_->why_never(spec);
}

void Gandiva::enqueue(const View& view, JobId job) {
  floor_.enqueue(view, job);
  requeued_ = true;
}

void Gandiva::forget(const View& view, JobId job, JobExit /*job_exit*/) {
  floor_.forget(view, job);
}

void Gandiva::observe(const View& /*view*/, const JobReported& report) { floor_.observe(report); }

WaitSplit Gandiva::waited(JobId job, Instant now) const { return floor_.queue().waited(job, now); }

void Gandiva::plan(const View& view, Draft& draft, PlanTrigger trigger) {
  if (trigger == PlanTrigger::kIdleTick) return;
  const PlanWriter pen{view, draft};
  last_plan_ = view.now();
  requeued_ = false;
  floor_.begin_plan(view);
  growth_.judge(pen, floor_);
  packs_.judge(pen, floor_);
  room_.serve_overdue(pen, floor_);
  admit_all(pen, true);
  if (floor_.queue().has_tenants()) {
    room_.note_owners(floor_);
    admit_all(pen, false);
  }
  room_.rotate(pen, floor_);
  if (!room_.keeps_any()) {
    rebalance(pen, floor_);
    gather(pen, floor_);
    const GpuSeats& seats = floor_.seats();
    const bool uncontended =
        seats.time_sliced() == 0 && seats.packed().empty() && floor_.queue().empty();
    if (uncontended) growth_.grow(pen, floor_);
  }
  exchange_.attempt(pen, floor_);
  packs_.attempt(pen, floor_);
  floor_.queue().note_causes(pen.ledger(), pen.now());
}

void Gandiva::admit_all(PlanWriter pen, bool own) {
  const auto worth = [&](const Group& group) { return worth_a_try(pen, group, own); };
  while (Group* group = floor_.queue().next(own, worth)) {
    if (!admit(pen, *group, own)) group->out = true;  // The other jobs of the group would fail too.
  }
}

// Must be cheap: called for every group in every plan.
bool Gandiva::worth_a_try(PlanWriter pen, const Group& group, bool own) const {
  if (pen.ledger().free_gpus(group.gpu_type) >= group.gpus) return true;
  if (!floor_.grown().empty()) return true;
  if (own && floor_.queue().may_reclaim(pen.view.ledger().free_gpus())) return true;
  if (!room_.may_join(group.oldest(), own)) return false;
  return can_join(group) || may_fold(floor_, group.gpus, most_jobs_);
}

bool Gandiva::can_join(const Group& group) const {
  const GpuSeats& seats = floor_.seats();
  if (most_jobs_ > 2 && seats.packed().contains(group.gpus)) return true;
  const auto level = seats.levels().lower_bound({group.gpus, 1});
  return level != seats.levels().end() && level->first.first == group.gpus &&
         level->first.second < most_jobs_;
}

// Returns the job's demand. If idle GPUs of some types are reserved for other jobs, returns one
// demand per remaining type.
std::vector<Demand> Gandiva::demands_of(const JobSpec& spec, JobId job, bool own) const {
  std::vector<Demand> demands;
  Demand demand = floor_.demand_of(spec);
  const std::size_t types = cluster_->topology().gpu_type_count();
  for (std::size_t i = 0; i < types; ++i) {
    const GpuTypeId type(i);
    if (spec.gpu_type && *spec.gpu_type != type) continue;
    if (room_.is_barred(type, job, own)) continue;
    demand.gpu_type = type;
    demands.push_back(demand);
  }
  if (demands.size() == types) demands = {floor_.demand_of(spec)};
  return demands;
}

bool Gandiva::admit(PlanWriter pen, const Group& group, bool own) {
  const JobId job = group.oldest();
  const std::vector<Demand> demands = demands_of(pen.spec(job), job, own);
  for (const Demand& demand : demands) {
    if (start_on_idle(pen, job, demand)) return true;
  }
  for (const Demand& demand : demands) {
    if (growth_.shrink_for(pen, floor_, job, demand)) return true;
  }
  if (own && room_.reclaim(pen, floor_, job)) return true;
  if (!room_.may_join(job, own)) return false;
  if (join_other_job(pen, job)) return true;
  return std::any_of(demands.begin(), demands.end(), [&](const Demand& demand) {
    return fold(pen, floor_, job, demand, most_jobs_);
  });
}

bool Gandiva::start_on_idle(PlanWriter pen, JobId job, const Demand& demand) {
  if (pen.ledger().free_gpus(demand.gpu_type) < demand.gpus) return false;
  Placement place;
  if (!place_together(*cluster_, pen.ledger(), floor_.seats(), demand, place) &&
      !place_locally(*cluster_, pen.ledger(), demand, Locality::kMinNodes, place)) {
    if (defragment(pen, floor_, job, demand)) return true;
    if (!place_spread(*cluster_, pen.ledger(), demand, place)) return false;
  }
  return floor_.start(pen, job, std::move(place));
}

bool Gandiva::join_other_job(PlanWriter pen, JobId job) {
  const std::int32_t gpus = pen.spec(job).gpus;
  const GpuSeats& seats = floor_.seats();
  const auto all_nodes_match = [&](GpuSeats::Row row) {
    const Placement& placement = seats[row].placement;
    return std::all_of(placement.begin(), placement.end(),
                       [&](const Share& share) { return seats.has_affinity(share.node, gpus); });
  };
  for (auto level = seats.levels().lower_bound({gpus, 1});
       level != seats.levels().end() && level->first.first == gpus &&
       level->first.second < most_jobs_;
       ++level) {
    for (const bool affinity : {true, false}) {
      for (const GpuSeats::Row row : level->second) {
        if (all_nodes_match(row) == affinity && join_seat(pen, job, row)) return true;
      }
    }
  }
  const auto packed = seats.packed().find(gpus);
  if (most_jobs_ <= 2 || packed == seats.packed().end()) return false;
  const std::vector<GpuSeats::Row> rows(packed->second.begin(), packed->second.end());
  return std::any_of(rows.begin(), rows.end(),
                     [&](GpuSeats::Row row) { return join_seat(pen, job, row); });
}

bool Gandiva::join_seat(PlanWriter pen, JobId job, GpuSeats::Row row) {
  const GpuSeats::Seat& seat = floor_.seats()[row];
  if (!floor_.suits(pen.spec(job), seat.placement) || floor_.is_suspect(seat.placement)) {
    return false;
  }
  if (GandivaFloor::is_grown(pen, seat)) return false;
  if (!seat.packed()) return floor_.join(pen, job, row);
  if (floor_.trial(seat.members.front()) != 0) return false;
  floor_.set_manner(pen, row, SharingMode::kTimeSliced);
  if (floor_.join(pen, job, row)) return true;
  floor_.set_manner(pen, row, SharingMode::kPacked);
  return false;
}

Instant Gandiva::review_at() const {
  const Instant soon = last_plan_ + Duration::seconds(1);
  Instant next = std::min({growth_.next(), packs_.next(floor_), room_.next(floor_)});
  if (requeued_) next = soon;  // The plan stopped jobs, and these may now join other jobs.
  if (floor_.shall_look_again()) {
    const std::int64_t slice = floor_.slice().us();
    next = std::min(next, Instant::micros((last_plan_.us() / slice + 1) * slice));
  }
  return std::max(next, soon);
}

}  // namespace muster
