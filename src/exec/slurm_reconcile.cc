// What squeue and the records say of leases, held against what is wanted.

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "exec/record.h"
#include "exec/slurm.h"
#include "shim/processes.h"

namespace muster {

namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kTellPending = 3 * kSecond;  // Before a job that waits in Slurm is news.
constexpr std::int64_t kLastWords = 3 * kSecond;    // A report may come after Slurm's word.
constexpr std::int64_t kLinger = 10 * kSecond;      // What is over here ends there by itself.
constexpr std::int64_t kCancelAgain = 3 * kSecond;
constexpr std::int64_t kFenceMargin = 30 * kSecond;  // See shim/fence.cc: the last resort.
constexpr std::int64_t kUsualStop = 480 * kSecond;   // Of a lease that says nothing, as the next.
constexpr std::int64_t kUsualKeep = 600 * kSecond;

}  // namespace

void SlurmExecutor::reconcile(const std::vector<SlurmJob>& jobs, std::int64_t asked) {
  jobs_.clear();
  for (const SlurmJob& row : jobs) {
    if (auto tag = read_tag(settings_.instance, row.comment)) jobs_.push_back({row, *tag});
  }
  seen_jobs_ = true;
  all_jobs_ = jobs;
  judge_strangers();
  for (auto& [name, lease] : leases_) {
    for (SlurmGroup& group : lease.groups) reconcile(lease, group, asked);
  }
  cancel_strays(boot_micros());
}

void SlurmExecutor::reconcile(SlurmLease& lease, SlurmGroup& group, std::int64_t asked) {
  const auto number = static_cast<int>(&group - lease.groups.data());
  const SlurmJob* row = nullptr;
  for (const Job& job : jobs_) {  // By its tag: a number alone may be another's by now.
    if (job.tag.lease != lease.name || job.tag.group != number) continue;
    if (row == nullptr || (row->over() && !job.row.over()) ||
        (job.row.id == group.id && !job.row.over())) {
      row = &job.row;
    }
  }
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
        group.go(SlurmGroup::Step::kNew, now);
      }
      return;
    case SlurmGroup::Step::kHeld:
      if (there && !row->held()) group.go(SlurmGroup::Step::kReleased, now);
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
  if (row->pending() && row->held() && asked > group.since) {
    return group.go(SlurmGroup::Step::kHeld, now);  // Slurm has forgotten that we released it.
  }
  if (row->pending() && now - group.since > kTellPending) {
    std::string said = fmt::format("waits in Slurm as job {}: {}", row->id, row->reason);
    if (group.said != said) {
      group.said = said;
      tell(ExecEvent::Kind::kNote, lease.parts[group.parts.front()], std::move(said));
    }
  }
  watch_node(lease, group);
}

// Slurm has no such job any more, or says that it is over. `row`: its last words, if any.
void SlurmExecutor::row_ended(SlurmLease& lease, SlurmGroup& group, const SlurmJob* row) {
  bool forgotten = row == nullptr;
  for (const std::size_t i : group.parts) {
    SlurmPart& part = lease.parts[i];
    if (!part.over) look_at(lease, part);
    forgotten = forgotten && !part.over && !part.started;
  }
  if (forgotten) {  // It was lost with the controller's memory: submitted again.
    troubles_.push_back(
        fmt::format("{}: Slurm has lost its job {}; submitted again", lease.name, group.id));
    group.id = 0;
    return group.go(SlurmGroup::Step::kNew, boot_micros());
  }
  const std::string why = row == nullptr
                              ? "Slurm no longer knows its job"
                              : fmt::format("its Slurm job {} ended as {}", row->id, row->state);
  for (const std::size_t i : group.parts) {
    if (!lease.parts[i].over) part_ended(lease, lease.parts[i], why);
  }
}

// Slurm says that it is over; its shim has not said so.
void SlurmExecutor::part_ended(SlurmLease& lease, SlurmPart& part, const std::string& why) {
  const std::int64_t now = boot_micros();
  if (part.row_over_at == 0) part.row_over_at = now;
  if (!part.started) {
    if (now - part.row_over_at < kLastWords) return;
    // Whoever holds the lock is about to start, or to find that he may not.
    if (!end_unstarted(lease, part, EndCause::kCouldNotStart, why)) part.over = true;
    return;
  }
  // Where Slurm reaches the server it has ended everything there. Elsewhere a copy may go on: it
  // hears of its end, or ends because it hears nothing.
  const bool reached = answers(part.node);
  if (part.retired_at == 0 && (!reached || now - part.row_over_at > kLastWords)) retire(part, why);
  if (part.retired_at == 0) return;
  const std::int64_t stop =
      part.spec.stop_after_ms > 0 ? part.spec.stop_after_ms * 1000 : kUsualStop;
  const std::int64_t wait = reached ? kLastWords : stop + kFenceMargin;
  if (now - part.retired_at < wait) return;
  part.over = true;
  tell(ExecEvent::Kind::kLost, part, why);
}

// On disk before anybody may start it elsewhere.
void SlurmExecutor::retire(SlurmPart& part, const std::string& why) {
  part.wish.kill = true;
  if (const Refusal refusal = write_wish(part)) {
    troubles_.push_back(part.name + ": cannot be retired yet: " + refusal->message);
    return;
  }
  part.retired_at = boot_micros();
  part.retired_why = why;
}

// A server that does not answer while Slurm still believes in the job.
void SlurmExecutor::watch_node(SlurmLease& lease, SlurmGroup& group) {
  const std::int64_t now = boot_micros();
  const auto silent = std::find_if(group.nodes.begin(), group.nodes.end(),
                                   [&](const std::string& node) { return !answers(node); });
  if (silent == group.nodes.end() || !contact_trouble_.empty()) {
    group.unreachable_since = 0;
    return;
  }
  if (group.unreachable_since == 0) {
    group.unreachable_since = now;
    tell(ExecEvent::Kind::kNote, lease.parts[group.parts.front()],
         *silent + " does not answer; what runs there is kept for now");
  }
  for (const std::size_t i : group.parts) {
    SlurmPart& part = lease.parts[i];
    const std::int64_t keep = part.spec.keep_for_ms > 0 ? part.spec.keep_for_ms * 1000 : kUsualKeep;
    const std::int64_t stop =
        part.spec.stop_after_ms > 0 ? part.spec.stop_after_ms * 1000 : kUsualStop;
    // So early that it is over when it has been kept for as long as it is to be.
    if (part.retired_at != 0 || now - group.unreachable_since < keep - stop - kFenceMargin)
      continue;
    if (part.started && !part.over) retire(part, part.node + " does not answer");
  }
  const bool over = std::all_of(group.parts.begin(), group.parts.end(), [&](std::size_t i) {
    const SlurmPart& part = lease.parts[i];
    const std::int64_t stop =
        part.spec.stop_after_ms > 0 ? part.spec.stop_after_ms * 1000 : kUsualStop;
    return part.over || (part.retired_at != 0 && now - part.retired_at > stop + kFenceMargin);
  });
  if (!over) return;
  to_cancel_.insert(group.id);
  for (const std::size_t i : group.parts) {
    SlurmPart& part = lease.parts[i];
    if (!std::exchange(part.over, true)) tell(ExecEvent::Kind::kLost, part, part.retired_why);
  }
}

void SlurmExecutor::look_at(SlurmLease& lease, SlurmPart& part) {
  const Result<Fd> opened = open_directory(directory_of(part));
  if (!opened.ok()) return;
  const Fd& directory = opened.value();
  if (!part.started && file_exists(directory, "started.json")) {
    const auto text = read_file(directory.get(), "started.json", kMostReportBytes);
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
  const auto text = read_file(directory.get(), "exit.json", kMostReportBytes);
  auto report = read_exit(text.ok() ? text.value() : "");
  if (report.ok() && report.value().token == part.spec.token) {
    return heard_end(lease, part, std::move(report).value());
  }
  // Spoilt by the job. Its shim writes it last, when nothing of the job is left.
  part.over = true;
  tell(ExecEvent::Kind::kLost, part, "its report cannot be read");
}

void SlurmExecutor::heard_end(const SlurmLease& lease, SlurmPart& part, ExitReport report) {
  if (part.over) return;
  part.over = true;
  if (part.retired_at != 0 && report.cause == EndCause::kKilled) {
    return tell(ExecEvent::Kind::kLost, part, part.retired_why);
  }
  const bool asked = part.wish.ends();
  if (report.cause == EndCause::kStopped && !asked) {  // By a signal, which we do not send.
    const SlurmGroup& group = lease.groups[static_cast<std::size_t>(part.group)];
    return tell(ExecEvent::Kind::kLost, part,
                fmt::format("its Slurm job {} was ended by Slurm or by somebody else", group.id));
  }
  tell(ExecEvent::Kind::kEnded, part);
  events_.back().ended = std::move(report);
}

// More than Slurm has given it can be had by a restart only, which is not worth it too often.
void SlurmExecutor::grow(SlurmLease& lease, std::int64_t now) {
  if (!lease.wants_more || lease.up_since == 0) return;
  if (now - lease.up_since < settings_.restart_after.us()) return;
  tell(ExecEvent::Kind::kNote, lease.parts.front(),
       fmt::format("is restarted with {:g} CPUs and {:.4g} GiB: Slurm gives a running job no more",
                   static_cast<double>(lease.wants_more->cpu_milli) / 1000,
                   static_cast<double>(lease.wants_more->mem_mib) / 1024));
  lease.wants_more.reset();
  for (SlurmPart& part : lease.parts) {
    if (part.over) continue;
    part.wish.stop_ms = part.spec.grace_ms;
    if (const Refusal refusal = write_wish(part)) troubles_.push_back(refusal->message);
  }
}

void SlurmExecutor::bury(std::int64_t now) {
  std::erase_if(leases_, [&](const auto& each) {
    const SlurmLease& lease = each.second;
    const bool over = std::all_of(lease.parts.begin(), lease.parts.end(),
                                  [](const SlurmPart& part) { return part.over; });
    if (over) buried_[lease.name] = now;
    return over;
  });
}

// Jobs of ours that nobody wants. What has just ended here is about to end there.
void SlurmExecutor::cancel_strays(std::int64_t now) {
  if (!known_) return;
  std::set<SlurmId> there;
  std::set<std::string> names;
  for (const Job& job : jobs_) {
    there.insert(job.row.id);
    names.insert(job.tag.lease);
    if (job.row.over() || job.row.state == "COMPLETING") continue;
    const auto lease = leases_.find(job.tag.lease);
    bool wanted = lease == leases_.end() ? known_->contains(job.tag.lease) : false;
    if (lease != leases_.end() &&
        static_cast<std::size_t>(job.tag.group) < lease->second.groups.size()) {
      const SlurmGroup& group = lease->second.groups[static_cast<std::size_t>(job.tag.group)];
      wanted = group.id == job.row.id || group.step == SlurmGroup::Step::kSubmitting ||
               group.step == SlurmGroup::Step::kUnsure;
    }
    if (const auto buried = buried_.find(job.tag.lease);
        lease == leases_.end() && buried != buried_.end()) {
      known_->erase(job.tag.lease);
      wanted = !job.row.pending() && now - buried->second < kLinger;
    }
    if (wanted) continue;
    const auto before = cancelled_.find(job.row.id);
    if (before == cancelled_.end() || now - before->second > kCancelAgain) {
      to_cancel_.insert(job.row.id);
    }
  }
  std::erase_if(cancelled_, [&](const auto& each) {
    return !there.contains(each.first) && now - each.second > kLinger;
  });
  std::erase_if(buried_, [&](const auto& each) {
    return !names.contains(each.first) && now - each.second > kLinger;
  });
}

}  // namespace muster
