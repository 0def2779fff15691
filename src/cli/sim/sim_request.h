#pragma once

// What is to be simulated, as the options of `muster sim` say it: reads their texts and the files
// they name, and refuses what makes no sense. `muster sim` runs the plan at once, a sweep one for
// each of its cells.

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "cli/common/inputs.h"
#include "cli/common/parser.h"
#include "cli/sim/sim_options.h"
#include "engine/policy/options.h"
#include "engine/scheduler/scheduler.h"
#include "sim/results/summary.h"
#include "sim/run/simulator.h"
#include "study/past/era.h"
#include "study/past/workload.h"

namespace muster {

// Everything a run needs. The runs point into it, so it stays where it is.
struct SimPlan {
  SimPlan() = default;
  SimPlan(const SimPlan&) = delete;
  SimPlan& operator=(const SimPlan&) = delete;

  Topology topology;
  ProfileTable profiles;
  Trace trace;
  PairTable pairs;
  std::optional<TenantTree> tenants;
  std::optional<Window> window;
  std::vector<SimOptions> runs;  // At least one: every combination asked for.
};

// A manager's past, to be simulated under its own scheduler and under others.
struct LivePlan {
  Workload workload;
  std::unique_ptr<SimPlan> same;   // One run.
  std::unique_ptr<SimPlan> other;  // At least one.
};

class SimRequest {
 public:
  // Once, before the command line is parsed.
  void add_options(Command command);

  // After that. Notes are what the user should be told of the inputs, a line each.
  Result<std::unique_ptr<SimPlan>> prepare(std::ostream& notes) const;

  // Of a live manager's own past, in place of prepare(): what is not said is as the manager has it.
  bool from_live() const { return !from_live_.empty() || since_given(); }
  // The options by which something is to be otherwise than it was; empty if nothing is.
  std::string asked_otherwise() const;
  Result<LivePast> read_live(std::ostream& notes) const;
  Result<LivePlan> prepare_live(const LiveHistory& history, std::ostream& notes);

  // How many runs that will be, without reading any file: finds what is wrong with the options.
  Result<std::size_t> count_runs() const;

  RunLabel label(const SimPlan& plan, const SimOptions& options) const;
  // A name for the run among those of the plan, fit for a directory.
  std::string name(const SimOptions& options) const;
  bool compares_schedulers() const { return !scheduler_.empty(); }

 private:
  // add_options() calls these in the order of the help.
  void add_workload_options(Command command);
  void add_part_options(Command command);
  void add_cost_options(Command command);
  void add_planner_options(Command command);
  void add_failure_options(Command command);
  Refusal refuse_empty() const;
  // sim_live.cc
  bool since_given() const;
  void take_defaults(const RosterSettings& settings);
  Refusal read_live_files(const RosterSettings& settings, SimPlan& plan, std::ostream& notes) const;
  Refusal read_files(SimPlan& plan, std::ostream& notes) const;
  Result<SimOptions> read_common() const;
  Refusal check_trace(const SimPlan& plan) const;
  Result<PolicyOptions> read_policy_options(Compat compat) const;
  // sim_schedulers.cc
  Result<PhillyOptions> read_philly() const;
  Result<GandivaOptions> read_gandiva() const;
  Refusal choose_scheduler(const Preset& preset, SimOptions& options) const;
  Result<std::vector<SimOptions>> read_runs(SimOptions common) const;
  Refusal add_runs(const Preset& preset, SimOptions options, std::vector<SimOptions>& runs) const;
  Refusal read_failures(SimOptions& common) const;
  Refusal read_tenants_option(const Trace& trace, const Topology& topology,
                              std::optional<TenantTree>& tenants) const;

  Command command_;
  std::string trace_, cluster_ = "16x8", profiles_, from_live_, since_;
  TraceOptions trace_options_;
  std::string policy_, mechanism_, placement_, estimates_ = "oracle";
  std::string round_, compat_, window_, queues_, promote_, service_, gittins_quantum_;
  std::string checkpoint_ = "10s", restart_ = "20s", migration_ = "10s", suspend_ = "1s";
  std::string checkpoint_interval_ = "5m", min_run_, tenants_;
  std::string scheduler_, spread_, acquire_ = "3m", back_off_ = "2m", relax_after_ = "1";
  std::string slice_ = "60s", jobs_per_gpu_ = "4", pairs_, elastic_;
  double report_noise_ = 0.05;
  std::uint64_t seed_ = 1;
  std::string failures_, retry_ = "fixed:3", server_mtbf_, server_repair_ = "1h";
  bool queues_by_time_ = false, pre_run_ = false;
};

}  // namespace muster
