// Compares the leases with squeue and with the records, and reacts to differences.

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/os/account.h"
#include "base/os/processes.h"
#include "base/text/text.h"
#include "exec/lease/lease_directory.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kTellPending = 3 * kSecond;  // Until a job that waits in Slurm is reported.
constexpr std::int64_t kLastWords = 3 * kSecond;    // A report can arrive after Slurm's.
constexpr std::int64_t kLinger = 10 * kSecond;      // Until an ended lease has ended in Slurm.
constexpr std::int64_t kCancelAgain = 3 * kSecond;
constexpr std::int64_t kBackFor = 30 * kSecond;  // Slurm has ended all jobs on a node by then.
constexpr std::int64_t kDamagedFor =
    5 * kSecond;  // Until a damaged record is considered permanent.

}  // namespace

void SlurmExecutor::reconcile(const std::vector<SlurmJob>& jobs, std::int64_t asked) {
  jobs_.clear();
  with_external_jobs_.clear();
  for (const SlurmJob& row : jobs) {
    const auto tag = read_tag(settings_.instance, row.comment);
    if (tag && is_ours(*tag, row)) {
      jobs_[{tag->lease, tag->group}].push_back(row);
    } else if (!row.pending() && !row.over()) {
      with_external_jobs_.insert(row.nodes.begin(), row.nodes.end());
    }
  }
  seen_jobs_ = true;
  if (nodes_.judge_external_jobs(ours_by_node(), leases_)) nodes_.update(settings_, trouble());
  for (auto& [name, lease] : leases_) {
    for (SlurmGroup& group : lease.groups) reconcile(lease, group, asked);
  }
  cancel_strays(boot_micros());
}

// Any user can write such a comment, so check the owner of the job.
bool SlurmExecutor::is_ours(const SlurmTag& tag, const SlurmJob& row) const {
  const auto lease = leases_.find(tag.lease);
  if (lease == leases_.end() && as_submitter_) return true;  // The job can belong to any user.
  const std::string& user = as_submitter_ ? lease->second.parts.front().spec.user : own_user_;
  return is_same_account(row.user, user.empty() ? own_user_ : user);
}

std::map<std::string, std::vector<SlurmId>> SlurmExecutor::ours_by_node() const {
  std::map<std::string, std::vector<SlurmId>> ours;
  for (const auto& [tag, rows] : jobs_) {
    for (const SlurmJob& job : rows) {
      if (job.pending() || job.over()) continue;
      // An ending job has released some of its resources, but it is unknown which.
      const SlurmId id = job.state == "RUNNING" ? job.id : -job.id;
      for (const std::string& node : job.nodes) ours[node].push_back(id);
    }
  }
  for (auto& [node, ids] : ours) std::sort(ids.begin(), ids.end());
  return ours;
}

// Identifies the job by its tag, because Slurm may have reused the id. Prefers the known id.
const SlurmJob* SlurmExecutor::row_of(const SlurmLease& lease, int number) const {
  const auto found = jobs_.find({lease.name, number});
  if (found == jobs_.end()) return nullptr;
  const SlurmId id = lease.groups[static_cast<std::size_t>(number)].id;
  const SlurmJob* row = live_row(found->second);
  for (const SlurmJob& each : found->second) {
    if (row == nullptr || (each.id == id && !each.over())) row = &each;
  }
  return row;
}

void SlurmExecutor::reconcile(SlurmLease& lease, SlurmGroup& group, std::int64_t asked) {
  const SlurmJob* row = row_of(lease, static_cast<int>(&group - lease.groups.data()));
  if (row != nullptr) group.state = row->state;
  const bool there = row != nullptr && !row->over();
  const std::int64_t now = boot_micros();
  switch (group.step) {
    case SlurmGroup::Step::kSubmitting:
      return;
    case SlurmGroup::Step::kNew:
    case SlurmGroup::Step::kUnsure:
      if (there) {
        group.id = row->id;
        group.go(row->held() ? SlurmGroup::Step::kHeld : SlurmGroup::Step::kReleased, now);
      } else if (group.step == SlurmGroup::Step::kUnsure && asked > group.since) {
        if (group.id != 0) return row_ended(lease, group, row);
        group.go(SlurmGroup::Step::kNew, now);
      }
      return;
    case SlurmGroup::Step::kHeld:
      if (there && !row->held()) group.go(SlurmGroup::Step::kReleased, now);
      if (there) watch_waiting(lease, group, *row);
      if (!there && asked > group.since) row_ended(lease, group, row);
      return;
    case SlurmGroup::Step::kReleased:
      break;
  }
  if (!there) {
    if (asked > group.since) row_ended(lease, group, row);
    return;
  }
  if (group.id != row->id) group.id = row->id;
  for (const std::size_t i : group.parts) lease.parts[i].row_over_at = 0;
  watch_waiting(lease, group, *row);
  watch_starting(lease, group, *row);
  if (row->pending() && row->held() && asked > group.since) {
    return group.go(SlurmGroup::Step::kHeld, now);  // Slurm has lost our release.
  }
  if (row->pending() && now - group.since > kTellPending) {
    std::string said = fmt::format("waiting in Slurm as job {}: {}", row->id, row->reason);
    if (group.said != said) {
      group.said = said;
      tell(ExecEvent::Kind::kNote, lease.parts[group.parts.front()], std::move(said));
    }
  }
  if (row->pending() && now - group.since > kTellPending && row->reason == "Resources") {
    make_room(lease, group);
  }
  watch_node(lease, group);
}

// Slurm no longer has the job, or reports that it has ended. `row`: its last state, or null.
void SlurmExecutor::row_ended(SlurmLease& lease, SlurmGroup& group, const SlurmJob* row) {
  bool forgotten = row == nullptr;
  for (const std::size_t i : group.parts) {
    SlurmPart& part = lease.parts[i];
    if (!part.over) look_at(lease, part);
    forgotten = forgotten && !part.over && !part.started;
  }
  if (forgotten) {  // Slurm lost the job, so submit it again.
    troubles_.push_back(
        fmt::format("{}: Slurm lost job {}; submitting it again", lease.name, group.id));
    group.id = 0;
    return group.go(SlurmGroup::Step::kNew, boot_micros());
  }
  const std::string why = row == nullptr
                              ? "Slurm no longer has the job"
                              : fmt::format("Slurm job {} ended as {}", row->id, row->state);
  for (const std::size_t i : group.parts) {
    if (!lease.parts[i].over) part_ended(lease, lease.parts[i], why);
  }
}

// Slurm reports the end of the part, but its shim has not.
void SlurmExecutor::part_ended(SlurmLease& lease, SlurmPart& part, const std::string& why) {
  const std::int64_t now = boot_micros();
  if (part.row_over_at == 0) part.row_over_at = now;
  // If Slurm reaches the node, it has ended all processes there. Otherwise the part may keep
  // running until its shim reads the order to end, or ends it for lack of contact.
  const bool reached = nodes_.reaches(part.node);
  if (!reached) part.cut_at = now;
  if (!part.started) {
    if (now - part.row_over_at < kLastWords) return;
    // A shim that holds the lock is about to start or to find the order to end.
    if (!end_unstarted(lease, part, EndCause::kCouldNotStart, why)) return;
  } else if (part.retired_at == 0 && (!reached || now - part.row_over_at > kLastWords)) {
    retire(part, why);
  }
  std::int64_t since = part.retired_at;
  std::int64_t wait = reached ? kLastWords : fence_wait_us(part.spec);
  if (part.retired_at == 0) {
    // The record is missing or damaged, so the shim gets no order.
    since = part.row_over_at;
    wait = reached ? kDamagedFor : INT64_MAX;
  }
  if (reached && part.cut_at != 0) {
    since = std::max(since, part.cut_at);
    wait = kBackFor;
  }
  if (now - since < wait) return;
  part.over = true;
  tell(ExecEvent::Kind::kLost, part, why);
}

// The order must be on disk before the job can start elsewhere.
void SlurmExecutor::retire(SlurmPart& part, const std::string& why) {
  part.order.kill = true;
  const MaybeError refusal = write_remote_order(part);
  // A missing record has the same effect, because the shim can no longer read it.
  if (refusal && open_directory(directory_of(part)).ok()) {
    if (std::exchange(part.retired_why, why) != why) {
      troubles_.push_back(part.name + ": cannot write the order to end: " + refusal->message);
    }
    return;
  }
  part.retired_at = boot_micros();
  part.retired_why = why;
}

void SlurmExecutor::look_at(SlurmLease& lease, SlurmPart& part) {
  const Result<Fd> opened = open_directory(directory_of(part));
  if (!opened.ok()) return;
  const Fd& directory = opened.value();
  if (!part.started && file_exists(directory, "started.json")) {
    const auto text = read_file(directory.get(), "started.json", kMaxReportBytes);
    auto facts = read_started(text.ok() ? text.value() : "");
    if (facts.ok() && facts.value().token == part.spec.token) {
      part.started = true;
      tell(ExecEvent::Kind::kStarted, part);
      events_.back().started = std::move(facts).value();
      if (std::all_of(lease.parts.begin(), lease.parts.end(),
                      [](const SlurmPart& each) { return each.started; })) {
        lease.up_since = boot_micros();
      }
    }
  }
  if (!file_exists(directory, "exit.json")) return;
  const auto text = read_file(directory.get(), "exit.json", kMaxReportBytes);
  auto report = read_exit(text.ok() ? text.value() : "");
  if (report.ok() && report.value().token == part.spec.token) {
    return heard_end(lease, part, std::move(report).value());
  }
  // The job damaged the report. The shim writes it last, when no process is left.
  retire(part, "its exit report is unreadable");
  part.over = true;
  tell(ExecEvent::Kind::kLost, part, "its exit report is unreadable");
}

// Whether the part was stopped by a signal that we did not order. The final state in Slurm shows
// the source. A limit of the site (TIMEOUT, PREEMPTED) counts as a normal stop; otherwise the lease
// is lost.
bool SlurmExecutor::is_unasked(const SlurmLease& lease, SlurmPart& part, const ExitReport& report) {
  if (report.cause != EndCause::kStopped || part.order.ends()) return false;
  const SlurmGroup& group = lease.groups[static_cast<std::size_t>(part.group)];
  if (group.state == "TIMEOUT" || group.state == "PREEMPTED") return false;
  const std::int64_t now = boot_micros();
  if (part.unasked_at == 0) part.unasked_at = now;
  SlurmJob last;
  last.state = group.state;
  if (!last.over() && now - part.unasked_at < kLinger) return true;
  part.over = true;
  tell(ExecEvent::Kind::kLost, part,
       fmt::format("Slurm job {} was ended by Slurm or by another user", group.id));
  return true;
}

void SlurmExecutor::heard_end(const SlurmLease& lease, SlurmPart& part, ExitReport report) {
  if (part.over || is_unasked(lease, part, report)) return;
  part.over = true;
  if (part.retired_at != 0 && report.cause == EndCause::kKilled) {
    return tell(ExecEvent::Kind::kLost, part, part.retired_why);
  }
  tell(ExecEvent::Kind::kEnded, part);
  events_.back().ended = std::move(report);
}

void SlurmExecutor::bury(std::int64_t now) {
  std::erase_if(leases_, [&](const auto& each) {
    const SlurmLease& lease = each.second;
    const bool over = std::all_of(lease.parts.begin(), lease.parts.end(),
                                  [](const SlurmPart& part) { return part.over; });
    if (over) buried_[lease.name] = now;
    if (over && known_) known_->erase(lease.name);
    return over;
  });
}

// Cancels our Slurm jobs without a lease. Jobs of leases that have just ended get time to end.
void SlurmExecutor::cancel_strays(std::int64_t now) {
  if (!known_) return;
  std::set<SlurmId> there;
  std::set<std::string> names;
  const auto look = [&](const std::string& name, int number, const SlurmJob& row) {
    there.insert(row.id);
    names.insert(name);
    if (row.over() || row.state == "COMPLETING") return;
    const auto lease = leases_.find(name);
    bool wanted = lease == leases_.end() && known_->contains(name);
    if (lease != leases_.end() && static_cast<std::size_t>(number) < lease->second.groups.size()) {
      const SlurmGroup& group = lease->second.groups[static_cast<std::size_t>(number)];
      wanted = group.id == row.id || group.step == SlurmGroup::Step::kSubmitting ||
               group.step == SlurmGroup::Step::kUnsure;
    }
    const auto buried = buried_.find(name);
    if (lease == leases_.end() && buried != buried_.end()) {
      wanted = !row.pending() && now - buried->second < kLinger;
    }
    const auto before = cancelled_.find(row.id);
    const bool recently = before != cancelled_.end() && now - before->second <= kCancelAgain;
    if (!wanted && !recently) to_cancel_.insert(row.id);
  };
  for (const auto& [tag, rows] : jobs_) {
    for (const SlurmJob& row : rows) look(tag.first, tag.second, row);
  }
  std::erase_if(cancelled_, [&](const auto& each) {
    return !there.contains(each.first) && now - each.second > kLinger;
  });
  std::erase_if(buried_, [&](const auto& each) {
    return !names.contains(each.first) && now - each.second > kLinger;
  });
}

}  // namespace muster
