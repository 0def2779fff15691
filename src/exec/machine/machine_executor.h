#pragma once

// Executor that runs all parts of all leases on this machine, through LocalExecutor. If the
// configuration splits the machine into several nodes, all of them are this machine.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/lease/executor.h"
#include "exec/machine/hardware_watch.h"
#include "exec/machine/local_executor.h"
#include "exec/machine/machine_facts.h"

namespace muster {

class MachineExecutor final : public Executor {
 public:
  explicit MachineExecutor(LocalExecutor local) : local_(std::move(local)) {}
  // Also watches the hardware. Its faults concern all `nodes`, because all are this machine.
  MachineExecutor(LocalExecutor local, std::vector<std::string> nodes,
                  HardwareWatch::Settings hardware);

  std::vector<MaybeError> start(std::span<const LaunchSpec> parts) override;
  std::vector<AdoptResult> adopt(std::span<LaunchSpec> parts, bool was_up, bool stopping) override;
  MaybeError stop(const std::string& part, std::optional<std::int64_t> grace_ms) override {
    return local_.stop(part, grace_ms);
  }
  MaybeError kill(const std::string& part) override { return local_.kill(part); }
  Result<std::string> resize(const std::string& part, Limits limits) override;
  bool forget(const std::string& part) override { return local_.forget(part); }
  std::vector<std::string> end_unknown_leases(std::span<const Name> known) override;
  std::vector<std::string> command_on(const std::string&,
                                      std::vector<std::string> command) const override {
    return command;
  }
  int fd() const override { return hardware_ ? both_.get() : local_.fd(); }
  std::vector<ExecEvent> poll() override { return local_.poll(); }
  std::vector<NodeUpdate> nodes() override { return {}; }
  std::vector<MeasuredFault> faults() override;
  std::optional<std::vector<NodeDescription>> changed_nodes() override { return std::nullopt; }
  std::vector<std::string> troubles() override { return std::exchange(troubles_, {}); }
  std::optional<MachineUse> use() override;

 private:
  AdoptResult adopt(LaunchSpec& part, bool was_up, bool stopping);

  LocalExecutor local_;
  std::vector<std::string> nodes_;
  std::unique_ptr<HardwareWatch> hardware_;  // Null: not watched.
  Fd both_;                                  // Readable when local_ or hardware_ is.
  std::unique_ptr<GpuWatch> gpus_;           // Created by the first use().
  std::vector<std::string> troubles_;
};

}  // namespace muster
