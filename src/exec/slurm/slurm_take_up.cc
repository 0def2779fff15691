// Leases that an earlier daemon ordered: what the records and Slurm say became of them.

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/os/processes.h"
#include "exec/lease/record.h"
#include "exec/lease/wish.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

// A job's user can change its record, and what is there must not become another order than was
// given. What may differ is what this daemon would decide anew; of a lease that may still be
// submitted, not upwards.
bool is_same_order(const LaunchSpec& ours, const LaunchSpec& written, bool may_have_run) {
  if (!may_have_run && (written.cpu_milli > ours.cpu_milli || written.mem_mib > ours.mem_mib)) {
    return false;
  }
  LaunchSpec same = ours;
  same.remote = written.remote;
  same.cgroup_parent = written.cgroup_parent;
  same.master_addr = written.master_addr;
  same.cpu_milli = written.cpu_milli;
  same.mem_mib = written.mem_mib;
  same.grace_ms = written.grace_ms;
  same.time_limit_ms = written.time_limit_ms;
  same.log_cap_bytes = written.log_cap_bytes;
  same.log_files = written.log_files;
  return same == written;
}

}  // namespace

struct SlurmExecutor::Records {
  bool unsure = false;  // Some cannot be read just now.
  bool some = false;
  bool some_started = false;
};

std::vector<Executor::TakenUp> SlurmExecutor::take_up(std::span<LaunchSpec> parts, bool was_up,
                                                      bool stopping) {
  const auto all = [&](TakenUp taken) { return std::vector<TakenUp>(parts.size(), taken); };
  const std::string name = slurm_name(parts.front());
  if (leases_.contains(name)) return all(TakenUp::kOurs);
  const bool in_slurm = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& each) {
    return each.first.first == name && live_row(each.second) != nullptr;
  });
  const Records records = read_records(parts, was_up || in_slurm);
  if (records.unsure) return all(TakenUp::kAskAgain);
  if (!seen_jobs_ && !(records.some && records.some_started)) return all(TakenUp::kAskAgain);
  SlurmLease lease;
  if (make_lease(parts, lease)) return all(TakenUp::kNever);
  if (records.some && (in_slurm || records.some_started)) {
    adopt(name, std::move(lease), stopping);
    return all(TakenUp::kOurs);
  }
  if ((was_up || stopping) && !gone_.contains(name)) {
    for (SlurmPart& part : lease.parts) retire(part, "nobody knows it");
  }
  if (known_) known_->erase(name);  // What Slurm has of it, now or later, is nobody's.
  if (in_slurm || (was_up && may_go_on(parts, name))) return all(TakenUp::kAskAgain);
  return all(was_up ? TakenUp::kGone : TakenUp::kNever);
}

// Parts become as they were written down.
SlurmExecutor::Records SlurmExecutor::read_records(std::span<LaunchSpec> parts, bool may_have_run) {
  Records records;
  for (LaunchSpec& spec : parts) {
    const std::string name = lease_name(spec);
    const Result<Fd> directory = open_directory(record_path(settings_.leases, name));
    const Result<LaunchSpec> written =
        directory.ok() ? read_record(directory.value()) : Result<LaunchSpec>(directory.error());
    const bool over = directory.ok() && file_exists(directory.value(), "exit.json");
    struct stat facts {};
    const std::string path = record_path(settings_.leases, name);
    // A file system that is away is no record that is gone.
    records.unsure = records.unsure ||
                     (!directory.ok() && (::stat(path.c_str(), &facts) == 0 || errno != ENOENT));
    if (!directory.ok()) continue;
    records.some_started =
        records.some_started || over || file_exists(directory.value(), "started.json");
    if (!written.ok()) continue;
    records.some = true;
    if (is_same_order(spec, written.value(), may_have_run || records.some_started)) {
      spec = written.value();
    } else {
      troubles_.push_back(name + ": spec.json is not as it was written");
    }
  }
  return records;
}

// Of a lease that was up and has left no trace: on a server that does not answer it may be running,
// until it ends because it hears nothing.
bool SlurmExecutor::may_go_on(std::span<const LaunchSpec> parts, const std::string& name) {
  const std::int64_t now = boot_micros();
  const std::int64_t since = gone_.try_emplace(name, now).first->second;
  if (!servers_.was_asked()) return true;  // Nobody has been asked yet.
  for (const LaunchSpec& spec : parts) {
    if (!servers_.reaches(slurm_node(spec)) && now - since < fence_wait_us(spec)) return true;
  }
  gone_.erase(name);
  return false;
}

// From where the records and Slurm say it is.
void SlurmExecutor::adopt(const std::string& name, SlurmLease lease, bool stopping) {
  const std::int64_t now = boot_micros();
  for (SlurmPart& part : lease.parts) {
    const auto wish = look_for_wish(directory_of(part));
    if (wish.ok() && wish.value()) part.wish = *wish.value();
    part.wish.serial = 0;  // What is read there may be anything.
  }
  for (std::size_t i = 0; i < lease.groups.size(); ++i) {
    SlurmGroup& group = lease.groups[i];
    const bool started = std::any_of(group.parts.begin(), group.parts.end(), [&](std::size_t part) {
      const Result<Fd> directory = open_directory(directory_of(lease.parts[part]));
      return directory.ok() && (file_exists(directory.value(), "started.json") ||
                                file_exists(directory.value(), "exit.json"));
    });
    const SlurmGroup::Step next = seen_jobs_ ? SlurmGroup::Step::kNew : SlurmGroup::Step::kUnsure;
    group.go(started ? SlurmGroup::Step::kReleased : next, now);
    if (const SlurmJob* row = row_of(lease, static_cast<int>(i)); row != nullptr && !row->over()) {
      group.id = row->id;
      group.go(row->held() ? SlurmGroup::Step::kHeld : SlurmGroup::Step::kReleased, now);
    }
    // One that is to stop is not begun any more: stop() ends what has not started.
    if (stopping) group.again = INT64_MAX;
  }
  leases_.emplace(name, std::move(lease));
  next_look_ = 0;
}

}  // namespace muster
