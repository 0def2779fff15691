#pragma once

// Optimus' scheduler (Peng et al., EuroSys 2018). In every round it allocates all GPUs again, one
// worker at a time to the job that gains most. It learns from job reports: it fits a convergence
// curve to a job's losses, and a scaling curve to the speeds of all jobs of a profile. A predicted
// remaining time (JobPredicted) replaces the convergence curve. A job restarts if its number of
// workers changes. Runs in rounds (EngineOptions::round).
//
// First every job gets its minimum number of GPUs, oldest first. So no job starves, but a younger
// job may be stopped for an older one. With tenants, entitled GPUs are allocated first; only the
// rest is lent. A gang uses GPUs of one type. Jobs without a requested type go where most GPUs are
// idle.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/chain/tenancy.h"
#include "engine/core/planner.h"
#include "engine/fit/allocate.h"
#include "engine/planner/optimus_belief.h"

namespace muster {

struct OptimusOptions {
  ConvergenceRule rule;
  const TenantTree* tenants = nullptr;  // Must outlive the planner.
  Duration min_run;                     // As ComposedPlannerOptions::min_run.
  // Assumed cost of a change of workers, so that workers move only if it is worth two restarts. The
  // original assumes no cost, although gains change every round.
  Duration restart_cost = Duration::seconds(40);
};

class Optimus final : public Planner {
 public:
  // `cluster` must outlive the planner.
  Optimus(const Cluster& cluster, const OptimusOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  void enqueue(const View& view, JobId job) override;
  bool resume(const View& view, Draft& draft, JobId job, Placement placement) override;
  void revised(const View& view, JobId job) override;
  void forget(const View& view, JobId job, JobExit job_exit) override;
  void plan(const View& view, Draft& draft, PlanTrigger trigger) override;
  bool drifts() const override { return true; }
  Instant review_at() const override;
  Reports wants_reports() const override { return Reports::kAll; }
  void observe(const View& view, const JobReported& report) override;
  void observe(const View& view, const TypeMeasured& trial) override;
  WaitSplit waited(JobId job, Instant now) const override;

 private:
  struct Ticket {
    bool seen = false;
    bool known = false;  // It runs or waits; false if finished or in back-off.
    bool waits = false;
    bool predicted = false;  // Its remaining work comes from JobPredicted, not from a curve.
    std::uint32_t group = 0;
    WaitSplit waited;  // While it waits, see WaitCauseTimer.
  };
  // Waiting jobs of one tenant, size and GPU type. They start by age and have the same wait cause.
  struct Group {
    TenantId tenant;
    std::int32_t least;
    std::optional<GpuTypeId> gpu_type;
    std::set<JobId> queued = {};           // Oldest first.
    std::set<JobId>::const_iterator next;  // First job not served in this plan; end(): none.
    WaitCauseTimer clock;
  };
  // GPUs of one type during a plan.
  struct Pool {
    std::int64_t left = 0;  // Not allocated yet.
    std::int64_t idle = 0;  // GPUs in `left` that no job holds now.
    // All except the minimums of the jobs served so far: available to the next job if no job were
    // too young to be stopped.
    std::int64_t unclaimed = 0;
    // An older job waits until young jobs may be stopped. No job starts here meanwhile; otherwise
    // there would always be a young job.
    bool awaited = false;
  };
  // A job that may get GPUs in a plan.
  struct Candidate {
    JobId job;
    GpuTypeId pool;         // GPU type that it has or will get.
    std::int32_t held = 0;  // GPUs held now; 0: it waits.
    std::int32_t give = 0;  // GPUs that it will get.
    bool safe = false;      // Keeps what it holds in any case.
    bool moves = false;     // To another GPU type.
  };
  enum class Right : std::uint8_t {
    kOwn,  // Within its tenant's entitlement.
    kAny,  // Everything that is left.
  };

  std::uint32_t group_of(const JobSpec& spec);
  std::int32_t wanted_by(const JobSpec& spec) const;
  void charge(const JobSpec& spec, std::int64_t gpus);
  void note_start(const View& view, JobId job);
  void note_causes(const View& view, const Draft& draft);

  // optimus_share.cc: number of GPUs per job.
  void gather(const View& view);
  void charge_held(const View& view);
  void keep_safe(const View& view);
  void share_out(const View& view, Right right);
  bool within(TenantId tenant, std::int32_t gpus, Right right) const;
  std::optional<GpuTypeId> pool_for(std::optional<GpuTypeId> type, std::int32_t gpus) const;
  std::optional<GpuTypeId> pool_to_await(std::optional<GpuTypeId> type, std::int32_t gpus) const;
  bool is_awaited(std::optional<GpuTypeId> type) const;
  bool is_eligible(const Group& group, Right right) const;
  Group* oldest_eligible(Right right);
  void give_least(const View& view, Candidate& candidate, std::int32_t least);
  void serve_placed(const View& view, Candidate& candidate, Right right);
  void serve_waiting(const View& view, Group& group);
  void grow(const View& view, Right right);
  ElasticJob elastic(const View& view, const Candidate& candidate);
  double predicted_steps(const View& view, const Candidate& candidate,
                         const std::vector<double>& speeds) const;

  // optimus_write.cc: placement of the GPUs.
  void write(const View& view, Draft& draft);
  std::int32_t put(const View& view, Draft& draft, const Candidate& candidate) const;

  const Cluster* cluster_;
  OptimusOptions options_;
  OptimusBelief belief_;
  std::optional<Tenancy> tenancy_;
  IdVector<JobId, Ticket> tickets_;
  std::vector<Group> groups_;
  std::size_t known_ = 0;  // Jobs that run or wait.
  Instant last_plan_;
  // Data of the current plan.
  IdVector<GpuTypeId, Pool> pools_;
  std::vector<Candidate> candidates_;  // Placed jobs by age, then the jobs to start.
  std::size_t placed_ = 0;             // Number of placed jobs in candidates_.
  bool may_await_ = false;
  std::vector<std::size_t> growing_;  // Indices of candidates.
  std::vector<ElasticJob> elastic_;
  std::vector<int> workers_;
};

}  // namespace muster
