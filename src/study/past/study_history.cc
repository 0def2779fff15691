#include "study/past/study_history.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/types/saturate.h"
#include "workload/history/notes.h"

namespace muster {

namespace {

Status status_of(const KnownJob& job) {
  switch (job.state) {
    case LiveState::kDone:
      return Status::kPassed;
    case LiveState::kFailed:
      return Status::kFailed;
    case LiveState::kCancelled:
      return Status::kKilled;
    default:
      return Status::kUnknown;
  }
}

class Maker {
 public:
  Maker(const LiveHistory& live, History& history) : live_(live), history_(history) {
    const Topology& topology = live.settings.topology;
    for (std::size_t i = 0; i < live.nodes.size(); ++i) {
      HistoryNode node{live.nodes[i], 0, 0, 0};
      if (i < topology.node_count()) node.gpus = topology.node(NodeId(i)).capacity.gpus;
      node.listed = node.gpus;
      history_.nodes.push_back(std::move(node));
    }
  }

  void add(const KnownJob& job);
  void finish();

 private:
  Instant date(Instant at) const {
    return at == Instant::never() ? at : Instant::micros(live_.unix_us(at));
  }
  void add(const PastLease& lease, PastJob& job);

  const LiveHistory& live_;
  History& history_;
  std::int64_t unfinished_ = 0, rejected_ = 0, trials_ = 0, lost_ = 0, unexplained_ = 0;
};

void Maker::add(const PastLease& lease, PastJob& job) {
  const Duration held = lease.held(live_.last);
  const bool over = lease.end != Instant::never();
  const bool failed =
      over && (lease.fate == LeaseResult::kFailed || lease.fate == LeaseResult::kTimeLimit);
  job.gpu_us = saturating_add(job.gpu_us, saturating_multiply(held.us(), lease.gpus()));
  if (lease.trial && !(over && lease.fate == LeaseResult::kFailed)) {
    ++trials_;
    return;
  }
  if (over && lease.fate == LeaseResult::kLost) ++lost_;
  Attempt attempt;
  attempt.start = date(lease.up);
  attempt.end = lease.up == Instant::never() ? Instant::never() : date(lease.up + held);
  attempt.run = held;
  attempt.failed = failed;
  attempt.reason = lease.reason;
  if (failed && !lease.reason) ++unexplained_;
  attempt.resumed = job.attempt_count > 0 && !history_.attempts.back().failed;
  attempt.hosts = static_cast<std::uint32_t>(history_.hosts.size());
  attempt.host_count = static_cast<std::uint32_t>(lease.where.size());
  for (const HostShare& share : lease.where) {
    history_.hosts.push_back(share);
    std::int32_t& seen = history_.nodes[share.node].gpus;
    seen = std::max(seen, static_cast<std::int32_t>(std::bit_width(share.gpus)));
  }
  job.run += held;
  job.failures += failed ? 1 : 0;
  ++job.attempt_count;
  history_.attempts.push_back(attempt);
}

void Maker::add(const KnownJob& job) {
  PastJob past;
  past.id = history_.ids.intern(std::to_string(job.id));
  past.submit = date(job.submitted);
  past.status = status_of(job);
  past.rejected = job.state == LiveState::kRejected;
  past.gpus = job.request.gpus;
  past.tenant = history_.tenants.intern(job.tenant);
  past.user = history_.users.intern(job.user);
  past.model = history_.models.intern(job.request.model);
  past.attempts = static_cast<std::uint32_t>(history_.attempts.size());
  for (const PastLease& lease : job.leases) add(lease, past);
  if (!job.ended) ++unfinished_;
  if (past.rejected) ++rejected_;
  history_.jobs.push_back(past);
}

void Maker::finish() {
  std::stable_sort(history_.jobs.begin(), history_.jobs.end(),
                   [](const PastJob& a, const PastJob& b) { return a.submit < b.submit; });
  history_.gpus = live_.settings.topology.total().gpus;
  Knows& knows = history_.knows;
  knows.dates = knows.runs = knows.starts = knows.attempts = knows.hosts = knows.slots = true;
  knows.status = knows.failures = knows.reasons = true;
  knows.tenants = history_.tenants.size() > 1;  // The table also contains "".
  knows.users = history_.users.size() > 1;
  add_note(history_.notes, unfinished_, "job", "not finished");
  add_note(history_.notes, rejected_, "job", "rejected: could never run");
  add_note(history_.notes, trials_, "pre-run",
           "that succeeded or was stopped: not counted as an attempt");
  add_note(history_.notes, lost_, "attempt",
           "lost with its shim: not counted as a failure of the job");
  add_note(history_.notes, unexplained_, "failed attempt", "without a known reason");
}

}  // namespace

History as_history(const LiveHistory& live) {
  History history;
  history.source = live.source;
  history.format = "muster-live";
  history.notes = live.notes;
  Maker maker(live, history);
  for (const KnownJob& job : live.jobs) maker.add(job);
  maker.finish();
  return history;
}

}  // namespace muster
