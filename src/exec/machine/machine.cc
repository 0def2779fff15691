#include "exec/machine/machine.h"

#include <algorithm>

namespace muster {

std::vector<Refusal> Machine::start(std::span<const LaunchSpec> parts) {
  std::vector<Refusal> refusals;
  for (const LaunchSpec& part : parts) refusals.push_back(local_.start(part));
  return refusals;
}

std::vector<Executor::TakenUp> Machine::take_up(std::span<LaunchSpec> parts, bool was_up,
                                                bool stopping) {
  std::vector<TakenUp> taken;
  for (LaunchSpec& part : parts) taken.push_back(take_up(part, was_up, stopping));
  return taken;
}

Executor::TakenUp Machine::take_up(LaunchSpec& part, bool was_up, bool stopping) {
  const std::string name = lease_name(part);
  if (local_.has(name)) return TakenUp::kOurs;
  const Result<Found::What> found = local_.adopt(name);
  if (found.ok() && found.value() != Found::What::kNeverStarted) return TakenUp::kOurs;
  if (was_up) {  // The job has spoilt its record. What is left of it is ended, by its token.
    return sweep(part, 0, false) ? TakenUp::kGone : TakenUp::kAskAgain;
  }
  if (!found.ok()) return TakenUp::kNever;  // No record: the order was never written down.
  if (stopping) {
    if (const Refusal refusal = local_.abandon(name)) troubles_.push_back(refusal->message);
    return TakenUp::kNever;
  }
  // As it was written down, since another daemon may be about to start that.
  if (Result<LaunchSpec> spec = local_.spec(name); spec.ok()) part = std::move(spec).value();
  return TakenUp::kNever;
}

Result<std::string> Machine::resize(const std::string& part, Limits limits) {
  const Refusal refusal = local_.resize(part, limits);
  if (!refusal) return std::string();
  // Less memory than it holds is refused as a whole; its CPUs may change all the same.
  const Result<ShimStatus> status = local_.status(part);
  if (!status.ok()) return *refusal;  // Frozen.
  const Limits cpu_only{limits.cpu_milli, status.value().limits.mem_mib};
  if (const Refusal again = local_.resize(part, cpu_only)) troubles_.push_back(again->message);
  return "keeps its memory: " + refusal->message;
}

std::optional<MachineUse> Machine::use() {
  if (!gpus_) gpus_ = std::make_unique<GpuWatch>();
  return MachineUse{gpus_->use(), local_.use()};
}

std::vector<std::string> Machine::end_strangers(std::span<const Name> known) {
  std::vector<std::string> said;
  const Result<std::vector<std::string>> unfinished = local_.unfinished();
  if (!unfinished.ok()) return {unfinished.error().message};
  for (const std::string& part : unfinished.value()) {
    const Result<LaunchSpec> spec = local_.spec(part);
    if (spec.ok()) {
      const Name name{spec.value().job, spec.value().epoch};
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    }
    said.push_back(part + ": nobody knows this lease; it is ended");
    const Result<Found::What> found = local_.adopt(part);
    Refusal refusal;
    if (found.ok() && found.value() == Found::What::kNeverStarted) refusal = local_.abandon(part);
    if (found.ok() && found.value() == Found::What::kRunning) refusal = local_.kill(part);
    if (refusal) said.push_back(refusal->message);
  }
  return said;
}

}  // namespace muster
