#pragma once

// The simulation that the options of `muster sim` describe. Reads the options and the files that
// they name, and rejects invalid combinations. `muster sim` uses one request, `muster sweep` one
// per cell.

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "cli/common/parser.h"
#include "cli/common/trace_inputs.h"
#include "cli/sim/sim_options.h"
#include "engine/policy/options.h"
#include "engine/scheduler/scheduler.h"
#include "sim/results/summary.h"
#include "sim/run/simulator.h"
#include "study/past/era.h"
#include "study/past/past_workload.h"

namespace muster {

// The inputs of one or more simulation runs. The runs point into it, so it cannot be copied or
// moved.
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
  std::vector<SimOptions> runs;  // At least one: one per requested combination.
};

// The past of a live manager, ready to simulate under its own scheduler and under others.
struct LivePlan {
  Workload workload;
  std::unique_ptr<SimPlan> same;   // One run, with the manager's own scheduler.
  std::unique_ptr<SimPlan> other;  // At least one run, with the requested schedulers.
};

class SimRequest {
 public:
  // Declares the options. Call it once, before the command line is parsed.
  void add_options(Command command);

  // Reads the options and files, after parsing. Prints notes about the inputs, one line each.
  Result<std::unique_ptr<SimPlan>> prepare(std::ostream& notes) const;

  // True for --from-live: call read_live() and prepare_live() instead of prepare(). Options that
  // are not given then default to the manager's settings.
  bool from_live() const { return !from_live_.empty() || since_given(); }
  // Returns the options that change the scheduler or its inputs, as text; empty if none do.
  std::string asked_otherwise() const;
  Result<LivePast> read_live(std::ostream& notes) const;
  Result<LivePlan> prepare_live(const LiveHistory& history, std::ostream& notes);

  // Returns the number of runs, or the first error in the options. Reads no files except the one of
  // --service.
  Result<std::size_t> count_runs() const;

  RunLabel label(const SimPlan& plan, const SimOptions& options) const;
  // Returns a name that identifies the run within the plan and can be a directory name.
  std::string name(const SimOptions& options) const;
  bool compares_schedulers() const { return !scheduler_.empty(); }

 private:
  // add_options() calls these in the order of the help.
  void add_workload_options(Command command);
  void add_part_options(Command command);
  void add_cost_options(Command command);
  void add_planner_options(Command command);
  void add_failure_options(Command command);
  MaybeError refuse_empty() const;
  // These are defined in sim_live.cc.
  bool since_given() const;
  void take_defaults(const RosterSettings& settings);
  MaybeError read_live_files(const RosterSettings& settings, SimPlan& plan,
                             std::ostream& notes) const;
  MaybeError read_files(SimPlan& plan, std::ostream& notes) const;
  Result<SimOptions> read_common() const;
  MaybeError check_trace(const SimPlan& plan) const;
  Result<PolicyOptions> read_policy_options(Compat compat) const;
  // These are defined in sim_schedulers.cc.
  Result<PhillyOptions> read_philly() const;
  Result<GandivaOptions> read_gandiva() const;
  MaybeError choose_scheduler(const Preset& preset, SimOptions& options) const;
  Result<std::vector<SimOptions>> read_runs(SimOptions common) const;
  MaybeError add_runs(const Preset& preset, SimOptions options,
                      std::vector<SimOptions>& runs) const;
  MaybeError read_failures(SimOptions& common) const;
  MaybeError read_tenants_option(const Trace& trace, const Topology& topology,
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
  std::string failures_, retry_ = "fixed:3", node_mtbf_, node_repair_ = "1h";
  bool queues_by_time_ = false, pre_run_ = false;
};

}  // namespace muster
