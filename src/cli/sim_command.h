#pragma once

// muster sim: replays a workload under one scheduler or several and compares them.

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "policy/options.h"
#include "sim/simulator.h"

namespace muster {

class SimCommand {
 public:
  void add_to(CLI::App& app);
  int run(Streams streams);
  bool chosen() const { return command_->parsed(); }

 private:
  Result<PolicyOptions> read_policy_options(Compat compat) const;
  // Fills in what the preset says and the user has not.
  Refusal apply_preset(SimOptions& common);
  Refusal read_failures(SimOptions& common) const;
  Refusal read_tenants_option(const Trace& trace, const Topology& topology,
                              std::optional<TenantTree>& tenants) const;

  CLI::App* command_ = nullptr;
  std::string trace_, format_, cluster_ = "16x8", profiles_, out_;
  std::string policy_ = "fifo", mechanism_ = "proportional", placement_, estimates_ = "oracle";
  std::string round_, compat_, window_, queues_, promote_, service_, gittins_quantum_;
  std::string checkpoint_ = "10s", restart_ = "20s", migration_ = "10s";
  std::string checkpoint_interval_ = "5m", min_run_, tenants_;
  std::string scheduler_, spread_, acquire_ = "3m", back_off_ = "2m", relax_after_ = "1";
  std::uint64_t seed_ = 1;
  std::string failures_, retry_ = "fixed:3", server_mtbf_, server_repair_ = "1h";
  bool json_ = false, queues_by_time_ = false, pre_run_ = false;
};

}  // namespace muster
