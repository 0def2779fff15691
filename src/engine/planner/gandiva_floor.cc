#include "engine/planner/gandiva_floor.h"

#include <algorithm>
#include <utility>

#include "base/types/check.h"

namespace muster {

GandivaFloor::GandivaFloor(const Cluster& cluster, const TenantTree* tenants, Duration slice,
                           Duration min_run)
    : cluster_(&cluster),
      slice_(slice),
      min_run_(min_run),
      queue_(cluster, tenants),
      seats_(cluster) {}

void GandivaFloor::enqueue(const View& view, JobId job) {
  if (tickets_.size() < view.job_count()) tickets_.resize(view.job_count());
  if (seats_.has(job)) {  // It lost its GPUs, but not by a plan.
    leave(job);
    queue_.refund(view.spec(job));
  }
  queue_.add(view, job);
}

void GandivaFloor::forget(const View& view, JobId job) {
  if (queue_.waits(job)) queue_.remove(view, job);
  if (!seats_.has(job)) return;
  leave(job);
  queue_.refund(view.spec(job));
}

void GandivaFloor::observe(const JobReported& report) {
  if (seats_.has(report.job)) tickets_[report.job].reported = report.speed;
}

void GandivaFloor::begin_plan(const View& view) {
  const ResourceLedger& ledger = view.ledger();
  queue_.begin_plan();
  std::erase_if(suspects_, [&](NodeId node) { return ledger.free_gpus(node) > 0; });
  const Topology& topology = cluster_->topology();
  if (view.any_closed() || ledger.free_gpus() + seats_.held() < topology.total().gpus) {
    for (std::size_t i = 0; i < topology.node_count(); ++i) {
      const NodeId node(i);
      const std::int32_t gpus = topology.node(node).capacity.gpus;
      const bool lacks = ledger.free_gpus(node) + seats_.held(node) < gpus;
      if (lacks || view.is_closed(node)) suspects_.insert(node);
    }
  }
  moves_left_ = kMaxMoves;
  look_again_ = false;
}

void GandivaFloor::seated(const View& view, JobId job) {
  tickets_[job].placed = view.now();
  const JobSpec& spec = view.spec(job);
  if (spec.most_gpus() > spec.gpus) elastic_.insert(job);
  if (seats_.of(job).gpus > spec.gpus) grown_.insert(job);
}

void GandivaFloor::leave(JobId job) {
  const GpuSeats::Row row = seats_.row_of(job);
  seats_.leave(job);
  tickets_[job].reported.reset();
  tickets_[job].trial = 0;
  elastic_.erase(job);
  grown_.erase(job);
  company_changed(row);
}

void GandivaFloor::company_changed(GpuSeats::Row row) {
  for (const JobId member : seats_[row].members) {
    tickets_[member].reported.reset();
    tickets_[member].trial = 0;
  }
}

bool GandivaFloor::refused(const Placement& placement) {
  for (const Share& share : placement) suspects_.insert(share.node);
  look_again_ = true;
  return false;
}

bool GandivaFloor::is_suspect(const Placement& placement) const {
  return !suspects_.empty() &&
         std::any_of(placement.begin(), placement.end(),
                     [this](const Share& share) { return suspects_.contains(share.node); });
}

bool GandivaFloor::start(PlanWriter pen, JobId job, Placement placement) {
  if (!pen.draft.start(job, placement)) return refused(placement);
  queue_.remove(pen.view, job);
  queue_.charge(pen.spec(job));
  seats_.sit(job, std::move(placement));
  seated(pen.view, job);
  return true;
}

bool GandivaFloor::join(PlanWriter pen, JobId job, GpuSeats::Row row) {
  const GpuSeats::Seat& seat = seats_[row];
  if (!pen.draft.join(job, seat.members.front(), SharingMode::kTimeSliced))
    return refused(seat.placement);
  queue_.remove(pen.view, job);
  queue_.charge(pen.spec(job));
  seats_.join(job, row, SharingMode::kTimeSliced);
  seated(pen.view, job);
  company_changed(row);
  return true;
}

bool GandivaFloor::move(PlanWriter pen, JobId job, Placement placement) {
  if (!pen.draft.replace(job, placement)) return refused(placement);
  leave(job);
  seats_.sit(job, std::move(placement));
  seated(pen.view, job);
  return true;
}

bool GandivaFloor::pack(PlanWriter pen, JobId job, GpuSeats::Row row) {
  const GpuSeats::Row before = seats_.row_of(job);
  const Ticket ticket = tickets_[job];
  MUSTER_CHECK(seats_[before].is_time_sliced() && pen.draft.stop(job));
  leave(job);
  const bool packed = pen.draft.join(job, seats_[row].members.front(), SharingMode::kPacked);
  if (!packed) {  // Return to its previous seat.
    MUSTER_CHECK(pen.draft.join(job, seats_[before].members.front(), SharingMode::kTimeSliced));
  }
  const GpuSeats::Row now = packed ? row : before;
  seats_.join(job, now, packed ? SharingMode::kPacked : SharingMode::kTimeSliced);
  seated(pen.view, job);
  company_changed(now);
  if (packed) return true;
  tickets_[job] = ticket;
  return refused(seats_[row].placement);
}

bool GandivaFloor::merge(PlanWriter pen, GpuSeats::Row from, GpuSeats::Row into) {
  const Lifted lifted = lift(pen, from);
  const JobId host = seats_[into].members.front();
  std::size_t done = 0;
  while (done < lifted.members.size() &&
         pen.draft.join(lifted.members[done], host, SharingMode::kTimeSliced)) {
    seats_.join(lifted.members[done], into, SharingMode::kTimeSliced);
    seated(pen.view, lifted.members[done]);
    ++done;
  }
  if (done == lifted.members.size()) {
    company_changed(into);
    moves_left_ -= static_cast<int>(done);
    return true;
  }
  while (done > 0) {
    MUSTER_CHECK(pen.draft.stop(lifted.members[--done]));
    leave(lifted.members[done]);
  }
  put_back(pen, lifted);
  return refused(seats_[into].placement);
}

GandivaFloor::Lifted GandivaFloor::lift(PlanWriter pen, GpuSeats::Row row) {
  const GpuSeats::Seat& seat = seats_[row];
  Lifted lifted{seat.members, {}, seat.manner, seat.placement};
  for (const JobId job : lifted.members) lifted.tickets.push_back(tickets_[job]);
  for (const JobId job : lifted.members) {
    MUSTER_CHECK(pen.draft.stop(job));
    leave(job);
  }
  return lifted;
}

// Seats all members or none.
bool GandivaFloor::set_down(PlanWriter pen, const Lifted& lifted, const Placement& placement) {
  const JobId first = lifted.members.front();
  for (const JobId job : lifted.members) {
    if (job == first) {
      if (!pen.draft.start(job, placement)) return false;
      seats_.sit(job, placement);
    } else if (pen.draft.join(job, first, lifted.manner)) {
      seats_.join(job, seats_.row_of(first), lifted.manner);
    } else {
      lift(pen, seats_.row_of(first));
      return false;
    }
    seated(pen.view, job);
  }
  return true;
}

// The draft always accepts a job back on the GPUs that it holds.
void GandivaFloor::put_back(PlanWriter pen, const Lifted& lifted) {
  MUSTER_CHECK(set_down(pen, lifted, lifted.placement));
  for (std::size_t i = 0; i < lifted.members.size(); ++i) {
    tickets_[lifted.members[i]] = lifted.tickets[i];
  }
}

bool GandivaFloor::rearrange(PlanWriter pen, const std::vector<Shift>& shifts) {
  std::vector<Lifted> lifted;
  for (const Shift& shift : shifts) lifted.push_back(lift(pen, shift.row));
  std::size_t done = 0;
  while (done < shifts.size() && set_down(pen, lifted[done], shifts[done].place)) ++done;
  if (done < shifts.size()) {
    for (std::size_t i = 0; i < done; ++i) lift(pen, seats_.row_of(lifted[i].members.front()));
    for (const Lifted& each : lifted) put_back(pen, each);
    return refused(shifts[done].place);
  }
  for (const Lifted& each : lifted) moves_left_ -= static_cast<int>(each.members.size());
  return true;
}

bool GandivaFloor::swap(PlanWriter pen, JobId member, JobId job) {
  if (!join(pen, job, seats_.row_of(member))) return false;
  MUSTER_CHECK(pen.draft.stop(member));
  leave(member);
  queue_.refund(pen.spec(member));
  queue_.defer(member, pen.now());
  return true;
}

bool GandivaFloor::start_instead(PlanWriter pen, JobId job, Placement placement,
                                 const std::vector<GpuSeats::Row>& rows) {
  std::vector<Lifted> lifted;
  for (const GpuSeats::Row row : rows) lifted.push_back(lift(pen, row));
  const bool started = start(pen, job, std::move(placement));
  for (const Lifted& each : lifted) {
    if (!started) put_back(pen, each);
    for (const JobId victim : each.members) {
      if (started) queue_.refund(pen.spec(victim));
    }
  }
  return started;
}

void GandivaFloor::set_manner(PlanWriter pen, GpuSeats::Row row, SharingMode manner) {
  MUSTER_CHECK(pen.draft.set_manner(seats_[row].members.front(), manner));
  seats_.set_manner(row, manner);
  company_changed(row);
}

std::uint32_t GandivaFloor::begin_trial(std::initializer_list<JobId> jobs) {
  ++last_trial_;
  for (const JobId job : jobs) tickets_[job].trial = last_trial_;
  return last_trial_;
}

void GandivaFloor::end_trial(std::initializer_list<JobId> jobs) {
  for (const JobId job : jobs) tickets_[job].trial = 0;
}

Demand GandivaFloor::demand_of(const JobSpec& spec) {
  return {spec.gpus, spec.gpu_type, std::nullopt, spec.profile, 0};
}

// All members that request a GPU type request the same type.
Demand GandivaFloor::demand_of(PlanWriter pen, const GpuSeats::Seat& seat) {
  Demand demand = demand_of(pen.spec(seat.members.front()));
  demand.gpus = seat.gpus;
  for (const JobId job : seat.members) {
    if (pen.spec(job).gpu_type) demand.gpu_type = pen.spec(job).gpu_type;
  }
  return demand;
}

bool GandivaFloor::is_grown(PlanWriter pen, const GpuSeats::Seat& seat) {
  return seat.gpus > pen.spec(seat.members.front()).gpus;
}

bool GandivaFloor::suits(const JobSpec& spec, const Placement& placement) const {
  return !spec.gpu_type || std::all_of(placement.begin(), placement.end(), [&](const Share& share) {
    return cluster_->topology().node(share.node).gpu_type == *spec.gpu_type;
  });
}

bool GandivaFloor::has_held(const View& view, JobId job, Duration time) const {
  return view.is_placed(job) && view.held_since(job) + time <= view.now() &&
         tickets_[job].placed + time <= view.now();
}

bool GandivaFloor::may_move(const View& view, JobId job) const {
  return tickets_[job].trial == 0 && has_held(view, job, std::max(slice_, min_run_));
}

}  // namespace muster
