#pragma once

// The inside of simulate(): one run, from its inputs to its result. The clock moves from event to
// event; each goes to the engine, and what the engine orders is carried out here, on jobs whose
// true work, speed and troubles only this class knows.
//
//   simulation.cc           the clock, arrivals, the result
//   simulation_leases.cc    what the engine orders, and how fast jobs then run
//   simulation_failures.cc  attempts that fail, servers that come and go
//   simulation_record.cc    what is noted for the reports

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/core/engine.h"
#include "sim/run/neighbours.h"
#include "sim/run/simulator.h"
#include "sim/run/testimony.h"
#include "sim/run/timetable.h"
#include "sim/run/troubles.h"
#include "sim/run/truth.h"

namespace muster {

class Simulation {
 public:
  Simulation(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
             const SimOptions& options);

  SimResult run();

 private:
  // One job as the simulator sees it. Index = JobId.
  struct Run {
    std::size_t trace_index;
    TrueProgress progress;
    bool moving = false;       // Its next start is a move.
    std::int32_t gpus = 0;     // Of the lease it holds.
    std::int64_t sharers = 1;  // Jobs that hold them, itself included.
    Instant held_since;        // Of that lease.
    Instant counted_until;     // Of its GPU time.
    WaitSplit saving;          // What the planner took for waiting while it was still saving.
    Placement held;            // Of that lease, where it matters: open spans, shared GPUs.
    double speed = 0;
    Instant span_begin;
    std::optional<Trouble> trouble;            // Ahead of this attempt.
    bool drawn = false;                        // Whether that has been looked up.
    Duration attempt_ran;                      // In earlier leases of the attempt.
    Instant running_since = Instant::never();  // In this one; never() while it does not.
    std::int64_t left_before = 0;              // Work left when it got its lease.
    Turns turns;                               // With those that share its GPUs.
    double packed = 1;      // What is left of its speed beside the other on its GPUs.
    double true_speed = 0;  // All told, in the long run.
    bool changed = false;   // Since its last report.
  };

  // simulation.cc
  EngineOptions engine_options() const;
  Engine make_engine();
  TenantId find_tenant(const std::string& name, std::size_t number) const;
  std::optional<GpuTypeId> find_type(const std::string& name) const;
  Instant next_instant() const;
  void gather_events();
  void submit(std::size_t index);
  void make_elastic(const TraceJob& job, JobSpec& spec) const;
  void try_out(ProfileId profile);
  void report_running();
  void report(JobId job);
  Duration estimate(const TraceJob& job);
  void reject(std::size_t index, std::string why);
  SimResult finish();

  Run& run_of(JobId job) { return runs_[job.index()]; }
  JobOutcome& outcome_of(JobId job) { return result_.jobs[run_of(job).trace_index]; }

  // simulation_leases.cc
  void carry_out(const Action& action);
  void start(JobId job, Epoch epoch);
  void started(JobId job, Epoch epoch);
  void begin_to_run(Run& run);
  Instant failure_of(const Run& run) const;
  void pause_attempt(Run& run);
  bool runs(JobId job) const;
  void set_speed(JobId job);
  void slow_down_touched();
  void resize(JobId job);
  void share(JobId job);
  double packed_speed(JobId job, JobId other) const;
  void stop(JobId job, Epoch epoch);
  void stopped(JobId job, Epoch epoch);
  void complete(JobId job);
  void end(JobOutcome& outcome, Fate fate);
  void release(JobId job, SpanEnd ended);

  // simulation_failures.cc
  std::int64_t lose_unsaved(JobId job, bool all = false);
  void fail(JobId job);
  void give_up(JobId job);
  void end_trial(const Troubles::Trial& trial);
  void change_server(const Troubles::Change& change);

  // simulation_record.cc
  void count_gpu_time(Run& run);
  void occupy(const Run& run, std::int32_t sign);
  void note_free(std::int32_t more);
  void open_spans(JobId job);
  void close_spans(JobId job, SpanEnd ended);
  void note_timeline();
  void note_waiting(JobId job);

  const Trace& trace_;
  const SimOptions& options_;
  Overheads overheads_;
  ProfileTable profiles_;
  Cluster cluster_;
  Neighbours neighbours_;
  Troubles troubles_;
  Engine engine_;
  Random noise_;
  Testimony testimony_;
  std::vector<ProfileId> profile_of_model_;
  std::vector<std::optional<GpuTypeId>> type_of_name_;
  std::vector<TenantId> tenant_of_name_;

  Instant now_;
  Instant wake_ = Instant::never();
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::int32_t free_gpus_;
  Instant free_since_;
  Duration slice_;                                       // Of those that take turns.
  bool sharing_ = false;                                 // Several jobs may hold a GPU.
  IdVector<NodeId, std::vector<std::int32_t>> holders_;  // Of each GPU of a server; if sharing.
  std::vector<Run> runs_;
  Timetable timetable_;
  std::vector<Event> events_;   // For the next step.
  std::vector<JobId> touched_;  // Gangs whose neighbours changed.
  std::vector<JobId> changed_;  // Jobs whose circumstances changed since they last reported.
  std::vector<JobId> company_;  // Scratch.
  SimResult result_;
};

}  // namespace muster
