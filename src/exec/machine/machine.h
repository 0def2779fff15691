#pragma once

// This machine as an Executor: every part of every lease runs here, by LocalExecutor. Servers that
// the configuration makes of the machine are all it.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/lease/executor.h"
#include "exec/machine/local.h"
#include "exec/machine/node.h"

namespace muster {

class Machine final : public Executor {
 public:
  explicit Machine(LocalExecutor local) : local_(std::move(local)) {}

  std::vector<Refusal> start(std::span<const LaunchSpec> parts) override;
  std::vector<TakenUp> take_up(std::span<LaunchSpec> parts, bool was_up, bool stopping) override;
  Refusal stop(const std::string& part, std::optional<std::int64_t> grace_ms) override {
    return local_.stop(part, grace_ms);
  }
  Refusal kill(const std::string& part) override { return local_.kill(part); }
  Result<std::string> resize(const std::string& part, Limits limits) override;
  bool forget(const std::string& part) override { return local_.forget(part); }
  std::vector<std::string> end_strangers(std::span<const Name> known) override;
  std::vector<std::string> command_on(const std::string&,
                                      std::vector<std::string> command) const override {
    return command;
  }
  int fd() const override { return local_.fd(); }
  std::vector<ExecEvent> poll() override { return local_.poll(); }
  std::vector<ServerNews> servers() override { return {}; }
  std::optional<std::vector<ServerFacts>> changed_servers() override { return std::nullopt; }
  std::vector<std::string> troubles() override { return std::exchange(troubles_, {}); }
  std::optional<MachineUse> use() override;

 private:
  TakenUp take_up(LaunchSpec& part, bool was_up, bool stopping);

  LocalExecutor local_;
  std::unique_ptr<GpuWatch> gpus_;  // From the first look on.
  std::vector<std::string> troubles_;
};

}  // namespace muster
