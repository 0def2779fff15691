#pragma once

// The implementation of simulate(): one run, on the caller's thread. The clock advances from event
// to event. Each event goes to the engine, and this class executes the engine's orders on simulated
// jobs. Only this class knows the actual work, speed and failures of the jobs.
//
// simulation.cc           clock, arrivals, result
// simulation_leases.cc    the engine's orders and the speed of jobs
// simulation_failures.cc  failed attempts and node outages
// simulation_record.cc    data recorded for the reports

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "engine/core/engine.h"
#include "sim/run/event_queue.h"
#include "sim/run/failure_schedule.h"
#include "sim/run/job_progress.h"
#include "sim/run/neighbors.h"
#include "sim/run/noisy_reports.h"
#include "sim/run/simulator.h"

namespace muster {

class Simulation {
 public:
  Simulation(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
             const SimOptions& options);

  SimResult run();

 private:
  // One job in the simulator. Indexed by JobId.
  struct Run {
    std::size_t trace_index;
    Duration work;  // Run time at speed 1; longer than in the trace if it fails later.
    TrueProgress progress;
    bool moving = false;       // Its next start is a move.
    std::int32_t gpus = 0;     // GPUs of its lease.
    std::int64_t sharers = 1;  // Jobs that hold these GPUs, including this one.
    Instant held_since;        // Start of the lease.
    Instant counted_until;     // Its GPU time is counted up to here.
    WaitSplit saving;          // Time that the planner counted as waiting while the job was saving.
    Placement held;            // Placement of the lease. Set only for open spans and shared GPUs.
    double speed = 0;
    Instant span_begin;
    std::optional<InjectedFailure> trouble;    // Failure of this attempt, if any.
    bool drawn = false;                        // True if the failure has been drawn.
    std::int64_t fails_at = -1;                // Work left when this attempt fails; -1: never.
    Instant running_since = Instant::never();  // In this lease; never() while it is not running.
    std::int64_t left_before = 0;              // Work left at the start of the lease.
    Turns turns;                               // Time slices on shared GPUs.
    double packed = 1;                         // Speed factor due to the other job on its GPUs.
    double true_speed = 0;                     // Long-run speed with all factors.
    bool changed = false;                      // True if changed since its last report.
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
  Duration estimate(const TraceJob& job, Duration work);
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
  bool runs(JobId job) const;
  void set_speed(JobId job);
  void slow_down_touched();
  void resize(JobId job);
  void share(JobId job);
  double packed_speed(JobId job, JobId other) const;
  void stop(JobId job, Epoch epoch);
  void stopped(JobId job, Epoch epoch);
  void complete(JobId job);
  void end(JobOutcome& outcome, JobResult fate);
  void release(JobId job, SpanEnd ended);

  // simulation_failures.cc
  std::int64_t lose_unsaved(JobId job, bool all = false);
  void fail(JobId job);
  void kill(JobId job);
  void give_up(JobId job);
  void end_trial(const FailureSchedule::Trial& trial);
  void change_node(const FailureSchedule::Change& change);

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
  const CompatTraits& imitated_;
  Overheads overheads_;
  ProfileTable profiles_;
  Cluster cluster_;
  Neighbors neighbors_;
  FailureSchedule failure_schedule_;
  Engine engine_;
  Random noise_;
  NoisyReports noisy_reports_;
  std::vector<ProfileId> profile_of_model_;
  std::vector<std::optional<GpuTypeId>> type_of_name_;
  std::vector<TenantId> tenant_of_name_;

  Instant now_;
  Instant wake_ = Instant::never();
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::int32_t free_gpus_;
  Instant free_since_;
  Duration slice_;                                       // Length of a time slice.
  bool sharing_ = false;                                 // True if several jobs may hold a GPU.
  IdVector<NodeId, std::vector<std::int32_t>> holders_;  // Jobs per GPU of each node, if sharing.
  std::vector<Run> runs_;
  EventQueue event_queue_;
  std::vector<Event> events_;   // Input of the next step.
  std::vector<JobId> touched_;  // Gangs whose neighbors changed.
  std::vector<JobId> changed_;  // Jobs whose speed changed since their last report.
  std::vector<JobId> company_;  // Scratch space of share().
  SimResult result_;
};

}  // namespace muster
