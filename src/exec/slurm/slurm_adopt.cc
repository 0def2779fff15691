// Re-adopts leases of an earlier daemon, based on their records and on Slurm.

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/os/processes.h"
#include "exec/lease/lease_directory.h"
#include "exec/lease/remote_order.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

// Whether the spec on disk is the order that we gave. The user of the job can modify the record.
// Only fields that this daemon may decide differently can differ. If the lease may still be
// submitted, CPU and memory must not be larger.
bool is_same_order(const LaunchSpec& ours, const LaunchSpec& written, bool may_have_run) {
  if (!may_have_run && (written.cpu_milli > ours.cpu_milli || written.mem_mib > ours.mem_mib)) {
    return false;
  }
  LaunchSpec same = ours;
  same.token = written.token;  // Earlier versions computed other tokens.
  same.mark = written.mark;
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
  bool unsure = false;  // Some records are unreadable at present.
  bool some = false;
  bool some_started = false;
};

std::vector<Executor::AdoptResult> SlurmExecutor::adopt(std::span<LaunchSpec> parts, bool was_up,
                                                        bool stopping) {
  const auto all = [&](AdoptResult taken) { return std::vector<AdoptResult>(parts.size(), taken); };
  const std::string name = slurm_name(parts.front());
  if (leases_.contains(name)) return all(AdoptResult::kOurs);
  const bool in_slurm = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& each) {
    return each.first.first == name && live_row(each.second) != nullptr;
  });
  const Records records = read_records(parts, was_up || in_slurm);
  if (records.unsure) return all(AdoptResult::kAskAgain);
  if (!seen_jobs_ && !(records.some && records.some_started)) return all(AdoptResult::kAskAgain);
  SlurmLease lease;
  if (make_lease(parts, lease)) return all(AdoptResult::kNever);
  if (records.some && (in_slurm || records.some_started)) {
    adopt(name, std::move(lease), stopping);
    return all(AdoptResult::kOurs);
  }
  if ((was_up || stopping) && !gone_.contains(name)) {
    for (SlurmPart& part : lease.parts) retire(part, "unknown lease");
  }
  if (known_) known_->erase(name);  // cancel_strays() then cancels its Slurm jobs.
  if (in_slurm || (was_up && may_go_on(parts, name))) return all(AdoptResult::kAskAgain);
  return all(was_up ? AdoptResult::kGone : AdoptResult::kNever);
}

// Replaces the parts by the specs on disk, if they are valid.
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
    // An unreachable file system does not mean that the record is gone.
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
      troubles_.push_back(name + ": spec.json was modified");
    }
  }
  return records;
}

// Whether a lease without a record can still be running. On an unreachable node it can, until its
// shim ends it for lack of contact.
bool SlurmExecutor::may_go_on(std::span<const LaunchSpec> parts, const std::string& name) {
  const std::int64_t now = boot_micros();
  const std::int64_t since = gone_.try_emplace(name, now).first->second;
  if (!nodes_.was_asked()) return true;  // There was no sinfo yet.
  for (const LaunchSpec& spec : parts) {
    if (!nodes_.reaches(slurm_node(spec)) && now - since < fence_wait_us(spec)) return true;
  }
  gone_.erase(name);
  return false;
}

// Continues with the state in the records and in Slurm.
void SlurmExecutor::adopt(const std::string& name, SlurmLease lease, bool stopping) {
  const std::int64_t now = boot_micros();
  for (SlurmPart& part : lease.parts) {
    const auto order = look_for_remote_order(directory_of(part));
    if (order.ok() && order.value()) part.order = *order.value();
    part.order.serial = 0;  // The value on disk is not trusted.
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
    // A stopping lease must not be submitted. stop() ends its parts that have not started.
    if (stopping) group.again = INT64_MAX;
  }
  leases_.emplace(name, std::move(lease));
  next_look_ = 0;
}

}  // namespace muster
