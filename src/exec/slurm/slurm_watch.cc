// Handles leases of the Slurm executor that make no progress: they wait in Slurm, their nodes do
// not respond, or their allocation is too large or too small.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/os/processes.h"
#include "exec/slurm/slurm_executor.h"

namespace muster {

namespace {

constexpr std::int64_t kUsualKeep = 600'000'000;   // If the spec has no value.
constexpr std::int64_t kPlaceAgain = 5'000'000;    // Time for a restarted controller to recover.
constexpr std::int64_t kHopelessFor = 20'000'000;  // Slurm's reason can be out of date.
constexpr std::int64_t kPendingFor = 60'000'000;   // Resources may be free elsewhere by then.
constexpr std::int64_t kSilentShim = 60'000'000;

// Whether a pending job with this reason can never start.
bool is_hopeless(std::string_view reason) {
  constexpr std::array<std::string_view, 10> kReasons = {
      "PartitionTimeLimit",   "PartitionNodeLimit", "BadConstraints",
      "AssociationTimeLimit", "QOSTimeLimit",       "QOSMaxWallDurationPerJobLimit",
      "InvalidAccount",       "InvalidQOS",         "AccountNotAllowed",
      "QOSNotAllowed"};
  return std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

}  // namespace

// A lease whose limits were reduced keeps its allocation in Slurm, because Slurm cannot shrink a
// running job. If another lease waits for these resources, it is restarted.
void SlurmExecutor::make_room(const SlurmLease& waiting, const SlurmGroup& group) {
  for (const std::string& name : group.nodes) {
    // If GPUs are missing, a restart does not help: Slurm may still be cleaning them up.
    const SlurmNode* node = nodes_.find_node(name);
    if (node != nullptr && node->gpus - node->gpus_used < group.gpus) return;
  }
  for (auto& entry : leases_) {
    SlurmLease& lease = entry.second;
    if (&lease == &waiting || lease.restarting) continue;
    const bool in_the_way =
        std::any_of(lease.parts.begin(), lease.parts.end(), [&](const SlurmPart& part) {
          const SlurmGroup& has = lease.groups[static_cast<std::size_t>(part.group)];
          const std::optional<Limits>& may = part.order.limits;
          const bool there =
              std::find(group.nodes.begin(), group.nodes.end(), part.node) != group.nodes.end();
          return there && part.started && !part.over && may &&
                 (std::max<std::int64_t>(1, may->cpu_milli / 1000) < has.cpus ||
                  may->mem_mib < has.mem_mib);
        });
    if (!in_the_way) continue;
    return restart(lease,
                   fmt::format("restarting with fewer resources, because {} waits for them and "
                               "Slurm cannot shrink a running job",
                               waiting.name));
  }
}

void SlurmExecutor::restart(SlurmLease& lease, std::string why) {
  lease.restarting = true;
  tell(ExecEvent::Kind::kNote, lease.parts.front(), std::move(why));
  for (SlurmPart& part : lease.parts) {
    if (part.over) continue;
    part.order.stop_ms = part.spec.grace_ms;
    if (const MaybeError refusal = write_remote_order(part)) troubles_.push_back(refusal->message);
  }
}

// Handles a node that does not respond while Slurm still reports the job as running.
void SlurmExecutor::watch_node(SlurmLease& lease, SlurmGroup& group) {
  const std::int64_t now = boot_micros();
  const auto silent = std::find_if(group.nodes.begin(), group.nodes.end(),
                                   [&](const std::string& node) { return !nodes_.answers(node); });
  if (!contact_.last_answered()) return;
  if (silent == group.nodes.end()) {
    group.unreachable_since = 0;
    return;
  }
  if (group.unreachable_since == 0) {
    group.unreachable_since = now;
    tell(ExecEvent::Kind::kNote, lease.parts[group.parts.front()],
         *silent + " does not respond; its jobs are kept for now");
  }
  for (const std::size_t i : group.parts) {
    SlurmPart& part = lease.parts[i];
    const std::int64_t keep = part.spec.keep_for_ms > 0 ? part.spec.keep_for_ms * 1000 : kUsualKeep;
    const bool keeps = now - group.unreachable_since < keep;
    if (part.retired_at != 0 || keeps) continue;
    if (part.started && !part.over) retire(part, part.node + " does not respond");
  }
  const bool over = std::all_of(group.parts.begin(), group.parts.end(), [&](std::size_t i) {
    const SlurmPart& part = lease.parts[i];
    return part.over || (part.retired_at != 0 && now - part.retired_at > fence_wait_us(part.spec));
  });
  if (!over) return;
  to_cancel_.insert(group.id);
  for (const std::size_t i : group.parts) {
    SlurmPart& part = lease.parts[i];
    if (!std::exchange(part.over, true)) tell(ExecEvent::Kind::kLost, part, part.retired_why);
  }
}

// If Slurm does not start the job on its nodes, ends the lease so that it is placed elsewhere.
void SlurmExecutor::watch_waiting(SlurmLease& lease, SlurmGroup& group, const SlurmJob& row) {
  const std::int64_t now = boot_micros();
  if (row.pending() && is_hopeless(row.reason) && now - group.since > kHopelessFor) {
    for (const std::size_t i : group.parts) {
      if (lease.parts[i].over) continue;
      end_unstarted(lease, lease.parts[i], EndCause::kCouldNotStart,
                    "Slurm cannot start the job: " + row.reason, ENOENT);
    }
    return;
  }
  const SlurmNode* closed = nullptr;
  for (const std::string& name : group.nodes) {
    const SlurmNode* node = nodes_.find_node(name);
    if (node != nullptr && !node->usable(!settings_.reservation.empty())) closed = node;
  }
  const bool long_ago = now - group.since > kPendingFor;
  if ((closed == nullptr && !long_ago) || !row.pending() || !contact_.last_answered()) {
    group.unusable_since = 0;
    return;
  }
  if (group.unusable_since == 0) group.unusable_since = now;
  if (now - group.unusable_since < kPlaceAgain) return;
  const std::string why = closed != nullptr
                              ? closed->name + " is " + closed->why_not()
                              : "it waited in Slurm for more than 60 s: " + row.reason;
  for (const std::size_t i : group.parts) {
    SlurmPart& part = lease.parts[i];
    look_at(lease, part);
    if (part.started || part.over) continue;
    end_unstarted(lease, part, EndCause::kStopped, "not started: " + why);
  }
}

// The job runs in Slurm, but a shim has not reported. Its node may not reach the record or the
// shim.
void SlurmExecutor::watch_starting(SlurmLease& lease, SlurmGroup& group, const SlurmJob& row) {
  const std::int64_t now = boot_micros();
  const bool up = std::all_of(group.parts.begin(), group.parts.end(), [&](std::size_t i) {
    return lease.parts[i].started || lease.parts[i].over;
  });
  if (up || row.state != "RUNNING") {
    group.running_since = 0;
    return;
  }
  if (group.running_since == 0) group.running_since = now;
  if (now - group.running_since < kSilentShim) return;
  troubles_.push_back(
      fmt::format("{}: Slurm job {} runs, but some of its shims did not start; ending it. Check "
                  "that {} and {} exist on every node",
                  lease.name, row.id, settings_.leases, settings_.shim));
  group.running_since = now;
  to_cancel_.insert(row.id);
}

// Only a restart can enlarge the allocation in Slurm. It is limited by restart_after.
void SlurmExecutor::grow(SlurmLease& lease, std::int64_t now) {
  if (!lease.wants_more || lease.up_since == 0 || lease.restarting) return;
  if (now - lease.up_since < settings_.restart_after.us()) return;
  restart(lease,
          fmt::format("restarting with {:g} CPUs and {:.4g} GiB, because Slurm cannot enlarge a "
                      "running job",
                      static_cast<double>(lease.wants_more->cpu_milli) / 1000,
                      static_cast<double>(lease.wants_more->mem_mib) / 1024));
}

}  // namespace muster
