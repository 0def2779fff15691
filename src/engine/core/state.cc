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

void accrue(const Resources& held, Duration elapsed, std::int64_t& gpu_us,
            std::int64_t& cpu_milli_ms, std::int64_t& mem_mib_ms) {
  const std::int64_t ms = elapsed.us() / 1000;
  gpu_us = saturating_add(gpu_us, saturating_multiply(held.gpus, elapsed.us()));
  cpu_milli_ms = saturating_add(cpu_milli_ms, saturating_multiply(held.cpu_milli, ms));
  mem_mib_ms = saturating_add(mem_mib_ms, saturating_multiply(held.mem_mib, ms));
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
  accrue(lease.total, elapsed, job.gpu_us, job.cpu_milli_ms, job.mem_mib_ms);
}

void State::enter_berth(JobId job, JobId host, Together manner) {
  std::int32_t row = jobs[host].berth;
  if (row == kNoRow) {
    if (unused_berths.empty()) {
      row = static_cast<std::int32_t>(berths.size());
      berths.emplace_back();
    } else {
      row = unused_berths.back();
      unused_berths.pop_back();
    }
    berths[static_cast<std::size_t>(row)].members = {host};
    jobs[host].berth = row;
  }
  Berth& berth = berths[static_cast<std::size_t>(row)];
  berth.members.push_back(job);
  berth.manner = manner;
  jobs[job].berth = row;
  reseated.insert(reseated.end(), berth.members.begin(), berth.members.end());
}

bool State::leave_berth(JobId job) {
  const std::int32_t row = std::exchange(jobs[job].berth, kNoRow);
  if (row == kNoRow) return false;
  Berth& berth = berths[static_cast<std::size_t>(row)];
  std::erase(berth.members, job);
  reseated.insert(reseated.end(), berth.members.begin(), berth.members.end());
  if (berth.members.size() > 1) return true;
  jobs[berth.members.front()].berth = kNoRow;
  berth.members.clear();
  unused_berths.push_back(row);
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
  facts.last_ran = job.lease != kNoRow ? now_ : job.since;  // A waiting job was settled last then.
  facts.gpus = job.spec.gpus;
  facts.estimate = job.estimate;
  facts.work_done = job.work_done;
  facts.gpu_us = job.gpu_us;
  facts.cpu_milli_ms = job.cpu_milli_ms;
  facts.mem_mib_ms = job.mem_mib_ms;
  facts.cluster_total = &state_->cluster->topology().total();
  if (job.lease == kNoRow) return facts;
  const Lease& lease = state_->leases[static_cast<std::size_t>(job.lease)];
  if (lease.state == Lease::State::kPromised) return facts;
  const Duration elapsed = now_ - job.since;
  facts.work_done += work_in(elapsed, job.speed);
  accrue(lease.total, elapsed, facts.gpu_us, facts.cpu_milli_ms, facts.mem_mib_ms);
  return facts;
}

double JobFacts::dominant_share_us() const {
  const auto share = [](std::int64_t held, std::int64_t of) {
    return of > 0 ? static_cast<double>(held) / static_cast<double>(of) : 0.0;
  };
  return std::max({share(gpu_us, cluster_total->gpus),
                   1000.0 * share(cpu_milli_ms, cluster_total->cpu_milli),
                   1000.0 * share(mem_mib_ms, cluster_total->mem_mib)});
}

void State::give(const Share& share) {
  books.give(share);
  Share back;
  back.node = share.node;
  if (closed[share.node] != 0) {
    back.slots = share.slots;
  } else if (const auto found = taken.find(share.node); found != taken.end()) {
    const std::int32_t lack = found->second.gpus - std::popcount(blocked[share.node].slots);
    back.slots = lowest_slots(share.slots, std::clamp(lack, 0, share.gpus()));
  }
  if (back.slots == 0) return;
  books.take(back);
  blocked[share.node].slots |= back.slots;
}

void State::take(const Share& share) {
  Share back;
  back.node = share.node;
  back.slots = blocked[share.node].slots & share.slots;
  if (back.slots != 0) {
    books.give(back);
    blocked[share.node].slots ^= back.slots;
  }
  books.take(share);
}

bool State::can_stay(const Job& job, const Placement& placement) const {
  if (job.lease == kNoRow) return false;
  const Placement& held = leases[static_cast<std::size_t>(job.lease)].placement;
  bool no_more = true;
  for (const Share& share : placement) {
    if (share.node.index() >= blocked.size() || share.slots == 0) return false;
    const auto mine = std::find_if(held.begin(), held.end(),
                                   [&](const Share& had) { return had.node == share.node; });
    SlotMask left = books.free_slots(share.node);
    if (mine != held.end()) left |= mine->slots & blocked[share.node].slots;
    if ((share.slots & ~left) != 0) return false;
    no_more = no_more && mine != held.end() && share.cpu_milli <= mine->cpu_milli &&
              share.mem_mib <= mine->mem_mib;
  }
  return books.has_room_for(placement, no_more);
}

bool State::is_first_holder(JobId job) const {
  const Berth* shared = berth(job);
  return shared == nullptr || shared->members.front() == job;
}

void State::check_berths() const {
  std::size_t members = 0;
  for (std::size_t i = 0; i < berths.size(); ++i) {
    const Berth& berth = berths[i];
    members += berth.members.size();
    MUSTER_CHECK(berth.members.size() != 1);
    MUSTER_CHECK(berth.manner == Together::kTurns || berth.members.size() <= 2);
    for (const JobId job : berth.members) {
      MUSTER_CHECK(jobs[job].berth == static_cast<std::int32_t>(i) && jobs[job].lease != kNoRow);
      const auto held = [&](JobId holder) -> const Placement& {
        return leases[static_cast<std::size_t>(jobs[holder].lease)].placement;
      };
      MUSTER_CHECK(held(job) == held(berth.members.front()));
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[JobId(i)].berth != kNoRow) --members;
  }
  MUSTER_CHECK(members == 0);
}

void State::check_invariants() const {
  Books expected(cluster->topology(), books.pooled() ? Pooling::kWholeCluster : Pooling::kPerNode);
  std::size_t placed_count = 0;
  std::size_t waiting_count = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[JobId(i)];
    MUSTER_CHECK(job.pencil == kNoRow);
    waiting_count += job.state == JobState::kWaiting ? 1 : 0;
    MUSTER_CHECK((job.state == JobState::kPlaced) == (job.lease != kNoRow));
    if (job.lease == kNoRow) continue;
    ++placed_count;
    const Lease& lease = leases[static_cast<std::size_t>(job.lease)];
    MUSTER_CHECK(lease.job == JobId(i) && lease.epoch == job.epoch);
    MUSTER_CHECK(lease.state != Lease::State::kUnused && lease.state != Lease::State::kStopping);
    MUSTER_CHECK(placed[static_cast<std::size_t>(job.placed)] == JobId(i));
    MUSTER_CHECK(job.spec.may_have(lease.total.gpus));  // A gang: all or nothing.
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
  check_berths();
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
  MUSTER_CHECK(expected.free_gpus() == books.free_gpus());
  for (std::size_t i = 0; i < cluster->topology().node_count(); ++i) {
    const NodeId node(i);
    MUSTER_CHECK(expected.free_slots(node) == books.free_slots(node));
    MUSTER_CHECK(expected.room(node).cpu_milli == books.room(node).cpu_milli);
    MUSTER_CHECK(expected.room(node).mem_mib == books.room(node).mem_mib);
    MUSTER_CHECK(expected.room(node).storage_kbps == books.room(node).storage_kbps);
    MUSTER_CHECK(expected.in_debt(node) == books.in_debt(node));
    for (const std::int32_t row : stopping[node]) {
      MUSTER_CHECK(leases[static_cast<std::size_t>(row)].state == Lease::State::kStopping);
    }
  }
}

}  // namespace muster
