#pragma once

// Gandiva's scheduler (Xiao et al., OSDI 2018). A job starts immediately if possible, if necessary
// by time-slicing GPUs with other jobs. Measured speeds are then used to improve placements. CPU
// and memory are always the proportional share.
//
// The oldest waiting job of the tenant whose turn it is gets the first available option:
//   1  the least loaded node with its affinity (used by gangs of its size)
//   2  an idle node
//   3  any node with enough idle GPUs; nodes from which small jobs can move away; any nodes
//   4  GPUs released by grown jobs
//   5  GPUs lent by its tenant
//   6  time-slicing with as few jobs as possible that hold exactly as many GPUs, or with two packed
//      jobs, which are then time-sliced too
//   7  GPUs of a larger gang, which is then time-sliced with another gang of its size
//
// Idle GPUs that no waiting job can use go to members of shared seats, to spread gangs and to
// elastic jobs (gandiva_moves.h, gandiva_growth.h). While GPUs are time-sliced, pairs of jobs are
// packed as a trial (gandiva_packs.h).
//
// No job starves: younger jobs are stopped for a job that is overdue, so it then waits only for
// older jobs (gandiva_room.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/planner.h"
#include "engine/model/pairs.h"
#include "engine/planner/gandiva_floor.h"
#include "engine/planner/gandiva_growth.h"
#include "engine/planner/gandiva_moves.h"
#include "engine/planner/gandiva_packs.h"
#include "engine/planner/gandiva_room.h"

namespace muster {

struct GandivaOptions {
  Duration slice = Duration::seconds(60);  // Time slice; also the length of a trial.
  std::int32_t most_jobs = 4;           // Maximum number of time-sliced jobs per GPU; at least 1.
  const PairTable* pairs = nullptr;     // Pairs that can be packed; nullptr: no packing.
  const TenantTree* tenants = nullptr;  // Must outlive the planner, as must `pairs`.
  Duration min_run;                     // As ComposedPlannerOptions::min_run.
};

class Gandiva final : public Planner {
 public:
  // `cluster` must outlive the planner.
  Gandiva(const Cluster& cluster, const GandivaOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  void enqueue(const View& view, JobId job) override;
  void forget(const View& view, JobId job, JobExit job_exit) override;
  void plan(const View& view, Draft& draft, PlanTrigger trigger) override;
  bool drifts() const override { return false; }
  Instant review_at() const override;
  Reports wants_reports() const override { return Reports::kChanged; }
  using Planner::observe;
  void observe(const View& view, const JobReported& report) override;
  WaitSplit waited(JobId job, Instant now) const override;

 private:
  using Group = GandivaQueue::Group;

  void admit_all(PlanWriter pen, bool own);
  bool worth_a_try(PlanWriter pen, const Group& group, bool own) const;
  bool admit(PlanWriter pen, const Group& group, bool own);
  std::vector<Demand> demands_of(const JobSpec& spec, JobId job, bool own) const;
  bool start_on_idle(PlanWriter pen, JobId job, const Demand& demand);
  bool can_join(const Group& group) const;
  bool join_other_job(PlanWriter pen, JobId job);
  bool join_seat(PlanWriter pen, JobId job, GpuSeats::Row row);

  const Cluster* cluster_;
  std::size_t most_jobs_;
  GandivaFloor floor_;
  GandivaRoom room_;
  GandivaExchange exchange_;
  GandivaGrowth growth_;
  GandivaPacks packs_;
  Instant last_plan_;
  bool requeued_ = false;  // A job was enqueued since the last plan began.
};

}  // namespace muster
