#include "exec/machine/machine_executor.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/types/check.h"

namespace muster {

MachineExecutor::MachineExecutor(LocalExecutor local, std::vector<std::string> nodes,
                                 HardwareWatch::Settings hardware)
    : local_(std::move(local)),
      nodes_(std::move(nodes)),
      hardware_(std::make_unique<HardwareWatch>(std::move(hardware))),
      both_(::epoll_create1(EPOLL_CLOEXEC)) {
  MUSTER_CHECK(both_.open());
  for (const int fd : {local_.fd(), hardware_->fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    MUSTER_CHECK(::epoll_ctl(both_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  }
}

std::vector<MeasuredFault> MachineExecutor::faults() {
  std::vector<MeasuredFault> faults;
  if (!hardware_) return faults;
  for (const std::string& what : hardware_->poll()) {
    for (const std::string& node : nodes_) faults.push_back({node, what});
  }
  return faults;
}

std::vector<MaybeError> MachineExecutor::start(std::span<const LaunchSpec> parts) {
  std::vector<MaybeError> refusals;
  for (const LaunchSpec& part : parts) refusals.push_back(local_.start(part));
  return refusals;
}

std::vector<Executor::AdoptResult> MachineExecutor::adopt(std::span<LaunchSpec> parts, bool was_up,
                                                          bool stopping) {
  std::vector<AdoptResult> taken;
  for (LaunchSpec& part : parts) taken.push_back(adopt(part, was_up, stopping));
  return taken;
}

Executor::AdoptResult MachineExecutor::adopt(LaunchSpec& part, bool was_up, bool stopping) {
  const std::string name = lease_name(part);
  if (local_.has(name)) return AdoptResult::kOurs;
  const Result<Found::What> found = local_.adopt(name);
  if (found.ok() && found.value() != Found::What::kNeverStarted) return AdoptResult::kOurs;
  if (was_up) {  // The job has damaged its record. Its processes are killed by their mark.
    return local_.sweep(part, 0, false) ? AdoptResult::kGone : AdoptResult::kAskAgain;
  }
  if (!found.ok()) return AdoptResult::kNever;  // No record: the order was never written.
  if (stopping) {
    if (const MaybeError refusal = local_.abandon(name)) troubles_.push_back(refusal->message);
    return AdoptResult::kNever;
  }
  // Return the spec on disk, because a shim of an earlier daemon may be about to start it.
  if (Result<LaunchSpec> spec = local_.spec(name); spec.ok()) part = std::move(spec).value();
  return AdoptResult::kNever;
}

Result<std::string> MachineExecutor::resize(const std::string& part, Limits limits) {
  const MaybeError refusal = local_.resize(part, limits);
  if (!refusal) return std::string();
  // A memory limit below the usage fails as a whole. Change only the CPU limit.
  const Result<ShimStatus> status = local_.status(part);
  if (!status.ok()) return *refusal;  // The shim does not respond.
  const Limits cpu_only{limits.cpu_milli, status.value().limits.mem_mib};
  if (const MaybeError again = local_.resize(part, cpu_only)) troubles_.push_back(again->message);
  return "memory limit unchanged: " + refusal->message;
}

std::optional<MachineUse> MachineExecutor::use() {
  if (!gpus_) gpus_ = std::make_unique<GpuWatch>();
  return MachineUse{gpus_->use(), local_.use()};
}

std::vector<std::string> MachineExecutor::end_unknown_leases(std::span<const Name> known) {
  std::vector<std::string> said;
  const Result<std::vector<std::string>> unfinished = local_.unfinished();
  if (!unfinished.ok()) return {unfinished.error().message};
  for (const std::string& part : unfinished.value()) {
    const Result<LaunchSpec> spec = local_.spec(part);
    if (spec.ok()) {
      const Name name{spec.value().job, spec.value().epoch};
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    }
    said.push_back(part + ": unknown lease; ending it");
    const Result<Found::What> found = local_.adopt(part);
    MaybeError refusal;
    if (found.ok() && found.value() == Found::What::kNeverStarted) refusal = local_.abandon(part);
    if (found.ok() && found.value() == Found::What::kRunning) refusal = local_.kill(part);
    if (refusal) said.push_back(refusal->message);
  }
  return said;
}

}  // namespace muster
