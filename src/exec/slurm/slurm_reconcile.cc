// What squeue and the records say of leases, held against what is wanted.

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/os/account.h"
#include "base/os/processes.h"
#include "base/text/text.h"
#include "exec/lease/record.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kTellPending = 3 * kSecond;  // Before a job that waits in Slurm is news.
constexpr std::int64_t kLastWords = 3 * kSecond;    // A report may come after Slurm's word.
constexpr std::int64_t kLinger = 10 * kSecond;      // What is over here ends there by itself.
constexpr std::int64_t kCancelAgain = 3 * kSecond;
constexpr std::int64_t kBackFor = 30 * kSecond;   // Slurm has ended what was on a server by then.
constexpr std::int64_t kSpoiltFor = 5 * kSecond;  // Before a record is believed to stay so.

}  // namespace

void SlurmExecutor::reconcile(const std::vector<SlurmJob>& jobs, std::int64_t asked) {
  jobs_.clear();
  with_strangers_.clear();
  for (const SlurmJob& row : jobs) {
    const auto tag = read_tag(settings_.instance, row.comment);
    if (tag && is_ours(*tag, row)) {
      jobs_[{tag->lease, tag->group}].push_back(row);
    } else if (!row.pending() && !row.over()) {
      with_strangers_.insert(row.nodes.begin(), row.nodes.end());
    }
  }
  seen_jobs_ = true;
  if (servers_.judge_strangers(ours_by_node(), leases_)) servers_.update(settings_, trouble());
  for (auto& [name, lease] : leases_) {
    for (SlurmGroup& group : lease.groups) reconcile(lease, group, asked);
  }
  cancel_strays(boot_micros());
}

// Anybody can write such a comment; whose job it is says Slurm.
bool SlurmExecutor::is_ours(const SlurmTag& tag, const SlurmJob& row) const {
  const auto lease = leases_.find(tag.lease);
  if (lease == leases_.end() && as_submitter_) return true;  // Any user's.
  const std::string& user = as_submitter_ ? lease->second.parts.front().spec.user : own_user_;
  return is_same_account(row.user, user.empty() ? own_user_ : user);
}

std::map<std::string, std::vector<SlurmId>> SlurmExecutor::ours_by_node() const {
  std::map<std::string, std::vector<SlurmId>> ours;
  for (const auto& [tag, rows] : jobs_) {
    for (const SlurmJob& job : rows) {
      if (job.pending() || job.over()) continue;
      // One that is ending has given back some of it, and nobody knows what.
      const SlurmId id = job.state == "RUNNING" ? job.id : -job.id;
      for (const std::string& node : job.nodes) ours[node].push_back(id);
    }
  }
  for (auto& [node, ids] : ours) std::sort(ids.begin(), ids.end());
  return ours;
}

// By its tag: a number alone may be another's by now. Of several, the one we know.
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
    return group.go(SlurmGroup::Step::kHeld, now);  // Slurm has forgotten that we released it.
  }
  if (row->pending() && now - group.since > kTellPending) {
    std::string said = fmt::format("waits in Slurm as job {}: {}", row->id, row->reason);
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
  // Where Slurm reaches the server it has ended everything there. Elsewhere a copy may go on: it
  // hears of its end, or ends because it hears nothing.
  const bool reached = servers_.reaches(part.node);
  if (!reached) part.cut_at = now;
  if (!part.started) {
    if (now - part.row_over_at < kLastWords) return;
    // Whoever holds the lock is about to start, or to find that he may not.
    if (!end_unstarted(lease, part, EndCause::kCouldNotStart, why)) return;
  } else if (part.retired_at == 0 && (!reached || now - part.row_over_at > kLastWords)) {
    retire(part, why);
  }
  std::int64_t since = part.retired_at;
  std::int64_t wait = reached ? kLastWords : fence_wait_us(part.spec);
  if (part.retired_at == 0) {
    // Its record was taken away or spoilt, and it cannot be told.
    since = part.row_over_at;
    wait = reached ? kSpoiltFor : INT64_MAX;
  }
  if (reached && part.cut_at != 0) {
    since = std::max(since, part.cut_at);
    wait = kBackFor;
  }
  if (now - since < wait) return;
  part.over = true;
  tell(ExecEvent::Kind::kLost, part, why);
}

// On disk before anybody may start it elsewhere.
void SlurmExecutor::retire(SlurmPart& part, const std::string& why) {
  part.wish.kill = true;
  const Refusal refusal = write_wish(part);
  // A record that is gone is as good as one that says so: its shim can no longer read it.
  if (refusal && open_directory(directory_of(part)).ok()) {
    if (std::exchange(part.retired_why, why) != why) {
      troubles_.push_back(part.name + ": cannot be retired yet: " + refusal->message);
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
  retire(part, "its report cannot be read");
  part.over = true;
  tell(ExecEvent::Kind::kLost, part, "its report cannot be read");
}

// Stopped by a signal, which we do not send. Whose it was, Slurm knows when its job is over: a
// limit of the site stops a job as we would; anything else has taken the lease from us.
bool SlurmExecutor::is_unasked(const SlurmLease& lease, SlurmPart& part, const ExitReport& report) {
  if (report.cause != EndCause::kStopped || part.wish.ends()) return false;
  const SlurmGroup& group = lease.groups[static_cast<std::size_t>(part.group)];
  if (group.state == "TIMEOUT" || group.state == "PREEMPTED") return false;
  const std::int64_t now = boot_micros();
  if (part.unasked_at == 0) part.unasked_at = now;
  SlurmJob last;
  last.state = group.state;
  if (!last.over() && now - part.unasked_at < kLinger) return true;
  part.over = true;
  tell(ExecEvent::Kind::kLost, part,
       fmt::format("its Slurm job {} was ended by Slurm or by somebody else", group.id));
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

// Jobs of ours that nobody wants. What has just ended here is about to end there.
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
    const bool lately = before != cancelled_.end() && now - before->second <= kCancelAgain;
    if (!wanted && !lately) to_cancel_.insert(row.id);
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
