#include "engine/core/state.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/types/check.h"
#include "base/types/saturate.h"
#include "engine/core/view.h"

namespace muster {

namespace {

Duration work_in(Duration elapsed, double speed) {
  return Duration::micros(static_cast<std::int64_t>(static_cast<double>(elapsed.us()) * speed));
}

// `before` plus `amount` for `time`, in the units of both.
std::int64_t accrue(std::int64_t before, std::int64_t amount, std::int64_t time) {
  return saturating_add(before, saturating_multiply(amount, time));
}

}  // namespace

std::int32_t State::add_lease(JobId id, Placement placement) {
  std::int32_t row;
  if (unused.empty()) {
    row = static_cast<std::int32_t>(leases.size());
    leases.emplace_back();
  } else {
    row = unused.back();
    unused.pop_back();
  }
  Lease& lease = leases[static_cast<std::size_t>(row)];
  lease.job = id;
  lease.epoch = ++jobs[id].epoch;
  lease.placement = std::move(placement);
  lease.total = total_of(lease.placement);
  lease.speed = cluster->speed(jobs[id].spec, lease.placement);
  lease.work_before = jobs[id].work_done;
  lease.saved = Duration();
  return row;
}

void State::release_lease(std::int32_t row) {
  Lease& lease = leases[static_cast<std::size_t>(row)];
  lease.state = Lease::State::kUnused;
  lease.blocked.clear();
  lease.blockers = 0;
  lease.resize_due = false;
  unused.push_back(row);
}

void State::settle(Job& job, Instant now) {
  const Duration elapsed = now - job.since;
  job.since = now;
  if (job.lease == kNoRow || elapsed == Duration()) return;
  const Lease& lease = leases[static_cast<std::size_t>(job.lease)];
  if (lease.state == Lease::State::kPromised) return;
  job.work_done += work_in(elapsed, job.speed);
  job.gpu_us = accrue(job.gpu_us, lease.total.gpus, elapsed.us());
  job.cpu_milli_ms = accrue(job.cpu_milli_ms, lease.total.cpu_milli, elapsed.us() / 1000);
  job.mem_mib_ms = accrue(job.mem_mib_ms, lease.total.mem_mib, elapsed.us() / 1000);
}

void State::enter_sharing_group(JobId job, JobId host, SharingMode manner) {
  std::int32_t row = jobs[host].sharing_group;
  if (row == kNoRow) {
    if (unused_sharing_groups.empty()) {
      row = static_cast<std::int32_t>(sharing_groups.size());
      sharing_groups.emplace_back();
    } else {
      row = unused_sharing_groups.back();
      unused_sharing_groups.pop_back();
    }
    sharing_groups[static_cast<std::size_t>(row)].members = {host};
    jobs[host].sharing_group = row;
  }
  GpuSharingGroup& sharing_group = sharing_groups[static_cast<std::size_t>(row)];
  sharing_group.members.push_back(job);
  sharing_group.manner = manner;
  jobs[job].sharing_group = row;
  reseated.insert(reseated.end(), sharing_group.members.begin(), sharing_group.members.end());
}

bool State::leave_sharing_group(JobId job) {
  const std::int32_t row = std::exchange(jobs[job].sharing_group, kNoRow);
  if (row == kNoRow) return false;
  GpuSharingGroup& sharing_group = sharing_groups[static_cast<std::size_t>(row)];
  std::erase(sharing_group.members, job);
  reseated.insert(reseated.end(), sharing_group.members.begin(), sharing_group.members.end());
  if (sharing_group.members.size() > 1) return true;
  jobs[sharing_group.members.front()].sharing_group = kNoRow;
  sharing_group.members.clear();
  unused_sharing_groups.push_back(row);
  return true;
}

std::optional<Duration> View::unsaved(JobId job) const {
  const Lease& lease = state_->leases[static_cast<std::size_t>(state_->jobs[job].lease)];
  if (lease.saved == Duration()) return std::nullopt;
  return facts(job).work_done - lease.saved;
}

JobFacts View::facts(JobId id) const {
  const Job& job = state_->jobs[id];
  JobFacts facts;
  facts.id = id;
  facts.now = now_;
  facts.submitted = job.submitted;
  // A waiting job was last settled when it stopped running.
  facts.last_ran = job.lease != kNoRow ? now_ : job.since;
  facts.gpus = job.spec.gpus;
  facts.estimate = job.estimate;
  facts.work_done = job.work_done;
  facts.gpu_us = job.gpu_us;
  facts.settled_cpu_milli_ms = job.cpu_milli_ms;
  facts.settled_mem_mib_ms = job.mem_mib_ms;
  facts.cluster_total = &state_->cluster->topology().total();
  if (job.lease == kNoRow) return facts;
  const Lease& lease = state_->leases[static_cast<std::size_t>(job.lease)];
  if (lease.state == Lease::State::kPromised) return facts;
  const Duration elapsed = now_ - job.since;
  facts.work_done += work_in(elapsed, job.speed);
  facts.gpu_us = accrue(facts.gpu_us, lease.total.gpus, elapsed.us());
  facts.held = &lease.total;
  facts.held_for = elapsed;
  return facts;
}

Duration View::expected_remaining(JobId id) const {
  const JobFacts job = facts(id);
  if (job.work_done < job.estimate) return job.remaining();
  return state_->estimator.remaining_after(spec(id), job.work_done);
}

std::int64_t JobFacts::cpu_milli_ms() const {
  if (held == nullptr) return settled_cpu_milli_ms;
  return accrue(settled_cpu_milli_ms, held->cpu_milli, held_for.us() / 1000);
}

std::int64_t JobFacts::mem_mib_ms() const {
  if (held == nullptr) return settled_mem_mib_ms;
  return accrue(settled_mem_mib_ms, held->mem_mib, held_for.us() / 1000);
}

double JobFacts::dominant_share_us() const {
  const auto share = [](std::int64_t used, std::int64_t of) {
    return of > 0 ? static_cast<double>(used) / static_cast<double>(of) : 0.0;
  };
  return std::max({share(gpu_us, cluster_total->gpus),
                   1000.0 * share(cpu_milli_ms(), cluster_total->cpu_milli),
                   1000.0 * share(mem_mib_ms(), cluster_total->mem_mib)});
}

void State::give(const Share& share) {
  ledger.give(share);
  Share back;
  back.node = share.node;
  if (closed[share.node] != 0) {
    back.slots = share.slots;
  } else if (const auto found = taken.find(share.node); found != taken.end()) {
    const std::int32_t lack = found->second.gpus - std::popcount(blocked[share.node].slots);
    back.slots = lowest_slots(share.slots, std::clamp(lack, 0, share.gpus()));
  }
  if (back.slots == 0) return;
  ledger.take(back);
  blocked[share.node].slots |= back.slots;
}

void State::take(const Share& share) {
  Share back;
  back.node = share.node;
  back.slots = blocked[share.node].slots & share.slots;
  if (back.slots != 0) {
    ledger.give(back);
    blocked[share.node].slots ^= back.slots;
  }
  ledger.take(share);
}

bool State::can_stay(const Job& job, const Placement& placement) const {
  if (job.lease == kNoRow) return false;
  const Placement& held = leases[static_cast<std::size_t>(job.lease)].placement;
  bool no_more = true;
  for (const Share& share : placement) {
    if (share.node.index() >= blocked.size() || share.slots == 0) return false;
    const auto mine = std::find_if(held.begin(), held.end(),
                                   [&](const Share& had) { return had.node == share.node; });
    SlotMask left = ledger.free_slots(share.node);
    if (mine != held.end()) left |= mine->slots & blocked[share.node].slots;
    if ((share.slots & ~left) != 0) return false;
    no_more = no_more && mine != held.end() && share.cpu_milli <= mine->cpu_milli &&
              share.mem_mib <= mine->mem_mib;
  }
  return ledger.has_room_for(placement, no_more);
}

bool State::is_first_holder(JobId job) const {
  const GpuSharingGroup* shared = sharing_group(job);
  return shared == nullptr || shared->members.front() == job;
}

void State::check_sharing_groups() const {
  std::size_t members = 0;
  for (std::size_t i = 0; i < sharing_groups.size(); ++i) {
    const GpuSharingGroup& sharing_group = sharing_groups[i];
    members += sharing_group.members.size();
    MUSTER_CHECK(sharing_group.members.size() != 1);
    MUSTER_CHECK(sharing_group.manner == SharingMode::kTimeSliced ||
                 sharing_group.members.size() <= 2);
    for (const JobId job : sharing_group.members) {
      MUSTER_CHECK(jobs[job].sharing_group == static_cast<std::int32_t>(i) &&
                   jobs[job].lease != kNoRow);
      const auto held = [&](JobId holder) -> const Placement& {
        return leases[static_cast<std::size_t>(jobs[holder].lease)].placement;
      };
      MUSTER_CHECK(held(job) == held(sharing_group.members.front()));
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[JobId(i)].sharing_group != kNoRow) --members;
  }
  MUSTER_CHECK(members == 0);
}

void State::check_invariants() const {
  ResourceLedger expected(cluster->topology(),
                          ledger.pooled() ? Pooling::kWholeCluster : Pooling::kPerNode);
  std::size_t placed_count = 0;
  std::size_t waiting_count = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[JobId(i)];
    MUSTER_CHECK(job.drafted == kNoRow);
    waiting_count += job.state == JobState::kWaiting ? 1 : 0;
    MUSTER_CHECK((job.state == JobState::kPlaced) == (job.lease != kNoRow));
    if (job.lease == kNoRow) continue;
    ++placed_count;
    const Lease& lease = leases[static_cast<std::size_t>(job.lease)];
    MUSTER_CHECK(lease.job == JobId(i) && lease.epoch == job.epoch);
    MUSTER_CHECK(lease.state != Lease::State::kUnused && lease.state != Lease::State::kStopping);
    MUSTER_CHECK(placed[static_cast<std::size_t>(job.placed)] == JobId(i));
    MUSTER_CHECK(job.spec.may_have(lease.total.gpus));  // Gangs are all or nothing.
    MUSTER_CHECK(lease.total == total_of(lease.placement));
    const bool waits = lease.state == Lease::State::kPromised || lease.resize_due;
    MUSTER_CHECK((lease.blockers > 0) == waits);
    for (const Share& share : lease.placement) {
      if (job.spec.gpu_type) {
        MUSTER_CHECK(cluster->topology().node(share.node).gpu_type == *job.spec.gpu_type);
      }
      if (is_first_holder(JobId(i))) expected.take(share);
    }
  }
  check_sharing_groups();
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    Share share = blocked[NodeId(i)];
    MUSTER_CHECK(closed[NodeId(i)] != 0 || taken.contains(NodeId(i)) || share.slots == 0);
    expected.withhold(NodeId(i), share.cpu_milli, share.mem_mib);
    share.node = NodeId(i);
    share.cpu_milli = share.mem_mib = 0;
    if (share.slots != 0) expected.take(share);
  }
  MUSTER_CHECK(placed_count == placed.size());
  MUSTER_CHECK(waiting_count == waiting);
  MUSTER_CHECK(expected.free_gpus() == ledger.free_gpus());
  for (std::size_t i = 0; i < cluster->topology().node_count(); ++i) {
    const NodeId node(i);
    MUSTER_CHECK(expected.free_slots(node) == ledger.free_slots(node));
    MUSTER_CHECK(expected.room(node).cpu_milli == ledger.room(node).cpu_milli);
    MUSTER_CHECK(expected.room(node).mem_mib == ledger.room(node).mem_mib);
    MUSTER_CHECK(expected.room(node).storage_kbps == ledger.room(node).storage_kbps);
    MUSTER_CHECK(expected.in_debt(node) == ledger.in_debt(node));
    for (const std::int32_t row : stopping[node]) {
      MUSTER_CHECK(leases[static_cast<std::size_t>(row)].state == Lease::State::kStopping);
    }
  }
}

}  // namespace muster
