#include "study/past/past_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "base/types/saturate.h"
#include "engine/core/cluster.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

// The jobs of the history that ran, in order of arrival.
std::vector<const KnownJob*> those_that_ran(const LiveHistory& history, Workload& workload) {
  std::vector<const KnownJob*> jobs;
  std::int64_t never_ran = 0;
  std::int64_t waiting = 0;
  std::int64_t running = 0;
  std::int64_t failed = 0;
  std::int64_t cancelled = 0;
  for (const KnownJob& job : history.jobs) {
    const bool ran = std::any_of(job.leases.begin(), job.leases.end(), [&](const PastLease& lease) {
      return !lease.trial && lease.up != Instant::never();
    });
    if (!ran) {
      ++(job.ended ? never_ran : waiting);
      continue;
    }
    jobs.push_back(&job);
    if (!job.ended) ++running;
    if (job.state == LiveState::kFailed) ++failed;
    if (job.state == LiveState::kCancelled) ++cancelled;
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const KnownJob* a, const KnownJob* b) {
    return std::tuple(a->eligible, a->submitted, a->id) <
           std::tuple(b->eligible, b->submitted, b->id);
  });
  std::vector<std::string>& notes = workload.trace.notes;
  add_note(notes, never_ran, "job", "that ended without running: omitted");
  add_note(notes, waiting, "job", "still waiting and never run: omitted");
  add_note(notes, running, "job",
           "not finished: assumed to need only the run time so far, and not counted in times");
  add_note(notes, failed, "job", "failed: assumed to finish after the actual run time");
  add_note(notes, cancelled, "job", "cancelled: assumed to finish after the actual run time");
  return jobs;
}

class WorkloadMaker {
 public:
  WorkloadMaker(const LiveHistory& history, Workload& workload)
      : history_(history),
        cluster_(history.settings.topology, history.settings.profiles),
        workload_(workload),
        total_gpus_(history.settings.topology.total().gpus) {}

  void add(const KnownJob& job) {
    if (workload_.trace.jobs.empty()) origin_ = job.eligible - Instant();
    const std::size_t index = workload_.trace.jobs.size();
    add_outcome(job, index);
    add_trace_job(job);
    if (!job.ended) workload_.unfinished.push_back(index);
  }
  void finish();

 private:
  struct Change {  // Change of the usage.
    std::int32_t gpus = 0, running = 0, waiting = 0;
    std::int64_t cpu_milli = 0, mem_mib = 0;
    double speed = 0;
  };

  double speed_of(const KnownJob& job, const PastLease& lease) const;
  void add_trace_job(const KnownJob& job);
  void add_outcome(const KnownJob& job, std::size_t index);
  void add_lease(const KnownJob& job, const PastLease& lease, std::size_t index);
  void add_spans(const PastLease& lease, LeaseSpan span);

  const LiveHistory& history_;
  Cluster cluster_;
  Workload& workload_;
  std::int32_t total_gpus_;
  Duration origin_;
  std::map<Instant, Change> changes_;
  std::int64_t moved_away_ = 0;  // Leases on nodes that no longer exist.
};

// Relative to the reference share, the unit of work in a trace.
double WorkloadMaker::speed_of(const KnownJob& job, const PastLease& lease) const {
  const std::int32_t gpus = lease.gpus();
  if (gpus == 0 || lease.cpu_milli == 0) return 1;
  const ProfileTable& profiles = history_.settings.profiles;
  const ProfileId profile =
      job.request.model.empty() ? ProfileTable::kUnknown : profiles.find(job.request.model);
  double speed = profiles[profile].speed(lease.cpu_milli / gpus, lease.mem_mib / gpus,
                                         kReferenceShare.storage_kbps);
  const std::uint32_t node = lease.where.front().node;
  if (node < history_.settings.topology.node_count()) {
    speed *= cluster_.gpu_factor(profile, history_.settings.topology.node(NodeId(node)).gpu_type);
  }
  return speed > 0 ? speed : 1;
}

void WorkloadMaker::add_trace_job(const KnownJob& job) {
  Trace& trace = workload_.trace;
  TraceJob out;
  out.id = std::to_string(job.id);
  out.submit = job.eligible - origin_;
  out.gpus = job.request.gpus;
  out.fewest = job.request.fewest;
  out.most = job.request.most;
  out.user_estimate = job.request.estimate;
  out.model = trace.models.intern(job.request.model);
  out.user = trace.users.intern(job.user);
  out.tenant = trace.tenants.intern(job.tenant);
  out.name = trace.names.intern(job.request.name);
  out.gpu_type = trace.gpu_types.intern(job.request.gpu_type);
  Duration ran;
  double work = 0;
  for (const PastLease& lease : job.leases) {
    if (lease.trial) continue;
    const Duration held = lease.held(history_.last);
    ran += held;
    work += static_cast<double>(held.us()) * speed_of(job, lease);
  }
  // The run time of the shims is more precise if the manager learned of an end late.
  if (job.ended && job.ran > Duration() && ran > Duration()) {
    work *= static_cast<double>(job.ran.us()) / static_cast<double>(ran.us());
  }
  out.duration = Duration::micros(std::max<std::int64_t>(1, std::llround(work)));
  trace.jobs.push_back(std::move(out));
}

void WorkloadMaker::add_spans(const PastLease& lease, LeaseSpan span) {
  const std::int32_t gpus = lease.gpus();
  for (const HostShare& share : lease.where) {
    if (share.node >= history_.settings.topology.node_count()) {
      ++moved_away_;
      return;
    }
  }
  for (const HostShare& share : lease.where) {
    const std::int64_t here = std::popcount(share.gpus);
    span.node = NodeId(share.node);
    span.slots = share.gpus;
    span.cpu_milli = lease.cpu_milli * here / gpus;
    span.mem_mib = lease.mem_mib * here / gpus;
    workload_.happened.spans.push_back(span);
  }
}

void WorkloadMaker::add_lease(const KnownJob& job, const PastLease& lease, std::size_t index) {
  JobOutcome& outcome = workload_.happened.jobs[index];
  const bool over = lease.end != Instant::never();
  if (over && lease.fate == LeaseResult::kFailed) {
    ++outcome.failures;
    outcome.last_failure = lease.reason.value_or(Reason::kNoSignature);
  }
  if (over && &lease != &job.leases.back() && lease.fate == LeaseResult::kStopped) {
    ++outcome.preemptions;
  }
  if (lease.up == Instant::never()) return;
  const Duration held = lease.held(history_.last);
  outcome.run += held;
  outcome.gpu_us = saturating_add(outcome.gpu_us, saturating_multiply(held.us(), lease.gpus()));
  LeaseSpan span;
  span.job = JobId(index);
  span.speed = speed_of(job, lease);
  span.begin = lease.up - origin_;
  span.end = span.begin + held;
  span.ended = !over                                  ? SpanEnd::kHeld
               : lease.fate == LeaseResult::kFinished ? SpanEnd::kFinished
               : lease.fate == LeaseResult::kFailed   ? SpanEnd::kFailed
                                                      : SpanEnd::kStopped;
  if (span.ended == SpanEnd::kFailed) span.reason = lease.reason.value_or(Reason::kNoSignature);
  if (outcome.start == Instant::never()) {
    outcome.start = span.begin;
    if (over) outcome.first_end = span.end;
  }
  const bool last = &lease == &job.leases.back();
  const auto change = [&](Instant at, std::int32_t sign, std::int32_t waiting) {
    Change& each = changes_[at];
    each.gpus += sign * lease.gpus();
    each.running += sign;
    each.waiting += waiting;
    each.cpu_milli += sign * lease.cpu_milli;
    each.mem_mib += sign * lease.mem_mib;
    each.speed += sign * span.speed;
  };
  change(span.begin, 1, -1);
  change(span.end, -1, last && job.ended ? 0 : 1);
  add_spans(lease, span);
}

void WorkloadMaker::add_outcome(const KnownJob& job, std::size_t index) {
  JobOutcome outcome;
  outcome.submit = outcome.queued = job.eligible - origin_;
  outcome.gpus = job.request.gpus;
  if (history_.settings.tenants) {
    const Result<TenantId> tenant = history_.settings.tenants->tenant_of_job(job.tenant);
    if (tenant.ok()) outcome.tenant = tenant.value();
  }
  workload_.happened.jobs.push_back(outcome);
  ++changes_[outcome.submit].waiting;
  for (const PastLease& lease : job.leases) add_lease(job, lease, index);
  JobOutcome& made = workload_.happened.jobs[index];
  if (job.ended) {
    made.fate = JobResult::kFinished;
    made.end = std::max(*job.ended - origin_, made.submit + made.run);
  }
  workload_.happened.gpu_us = saturating_add(workload_.happened.gpu_us, made.gpu_us);
}

void WorkloadMaker::finish() {
  TimelinePoint now;
  for (const auto& [at, change] : changes_) {
    now.at = at;
    now.busy_gpus += change.gpus;
    now.running += change.running;
    now.waiting += change.waiting;
    now.cpu_milli += change.cpu_milli;
    now.mem_mib += change.mem_mib;
    now.speed = now.running == 0 ? 0 : now.speed + change.speed;
    workload_.happened.timeline.push_back(now);
    workload_.happened.free.push_back({at, std::max(0, total_gpus_ - now.busy_gpus)});
  }
  auto& spans = workload_.happened.spans;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const LeaseSpan& a, const LeaseSpan& b) { return a.end < b.end; });
  add_note(workload_.trace.notes, moved_away_, "lease",
           "on nodes that no longer exist: not shown on GPUs");
}

}  // namespace

Workload as_workload(const LiveHistory& history) {
  Workload workload;
  workload.trace.source = history.source;
  workload.trace.format = "live";
  workload.trace.notes = history.notes;
  const std::vector<const KnownJob*> jobs = those_that_ran(history, workload);
  WorkloadMaker maker(history, workload);
  for (const KnownJob* job : jobs) maker.add(*job);
  maker.finish();
  return workload;
}

void leave_unfinished(const Workload& workload, SimResult& simulated) {
  for (const std::size_t i : workload.unfinished) {
    JobOutcome& job = simulated.jobs[i];
    if (job.fate == JobResult::kFinished) job.fate = JobResult::kUnfinished;
    job.end = Instant::never();
  }
}

}  // namespace muster
