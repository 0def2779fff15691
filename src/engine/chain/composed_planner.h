#pragma once

// The default planner: a policy (order), a mechanism (CPU and memory) and a placement (nodes), each
// exchangeable. It keeps waiting jobs by demand class; see demand_class.h.

#include <optional>
#include <string>
#include <vector>

#include "base/types/owned.h"
#include "engine/chain/composed_planner_options.h"
#include "engine/chain/demand_class.h"
#include "engine/chain/running_ranks.h"
#include "engine/chain/tenancy.h"
#include "engine/core/mechanism.h"
#include "engine/core/placer.h"
#include "engine/core/planner.h"
#include "engine/core/policy.h"

namespace muster {

class ComposedPlanner final : public Planner {
 public:
  ComposedPlanner(const Cluster& cluster, Owned<Policy> policy, Owned<Mechanism> mechanism,
                  Owned<Placer> placer, const ComposedPlannerOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  bool could_avoid(const JobSpec& spec, std::span<const NodeId> nodes) const override;
  void enqueue(const View& view, JobId job) override;
  void reseat(const View& view, JobId job) override;
  void revised(const View& view, JobId job) override;
  bool resume(const View& view, Draft& draft, JobId job, Placement placement) override;
  void forget(const View& view, JobId job, JobExit job_exit) override;
  void plan(const View& view, Draft& draft, PlanTrigger trigger) override;
  bool drifts() const override { return traits_.preempts && traits_.drifts; }
  Instant review_at() const override;
  WaitSplit waited(JobId job, Instant now) const override;
  std::vector<JobId> class_heads(Instant now) const override;
  std::optional<std::vector<JobId>> queue_order(const View& view, std::size_t most) const override;
  std::optional<BackfillReservation> kept_free() const override { return kept_; }

  // How the engine must count CPU and memory for this mechanism and placement.
  Pooling pooling() const;

 private:
  std::uint32_t class_of(const JobSpec& spec, std::span<const NodeId> avoid = {});
  Rank rank_of(const View& view, JobId job) const;
  void seat(const View& view, JobId job);
  void unseat(JobId job, Instant now);
  void review(const View& view);
  void note_causes(const View& view, const Draft& draft);
  Ask ask_for(const View& view, JobId job) const;

  // Without preemption: jobs start on free resources, in the order of the policy.
  void fill(const View& view, Draft& draft, std::optional<std::size_t> near = {});
  class Backfill;  // Starts jobs behind a reservation for the first job.
  Instant expected_end(const View& view, JobId job);  // For placed jobs; always after now().
  DemandClass* next_in_order(std::int32_t free_gpus, Instant now, std::optional<std::size_t> near);
  bool is_passed_by(const DemandClass& demand_class, Instant now) const;
  bool served_before(const DemandClass& a, const DemandClass& b, Instant now) const;
  DemandClass* best_aligned(const View& view, const Draft& draft, std::int32_t free_gpus,
                            std::optional<std::size_t> near);
  std::int32_t free_gpus(const Draft& draft) const;
  bool fits_budget(const View& view, const Draft& draft, JobId job) const;
  bool take(const View& view, Draft& draft, JobId job);
  // Adaptive mechanisms, if jobs request CPU, memory or a spread.
  bool anyone_particular(const View& view) const;
  bool all_have_place(const View& view, const Draft& draft, std::optional<JobId> another) const;
  void keep_displaced(const View& view, Draft& draft,
                      const std::vector<std::pair<JobId, Placement>>& displaced);
  void note_start(const View& view, JobId job);

  // With preemption: the first jobs in order that fit by GPU count should run.
  void preempt(const View& view, Draft& draft);
  // If so, the last computed rank of a running job is never better than its current rank.
  bool ranks_only_improve() const;
  bool no_job_can_gain(const View& view, const Draft& draft);
  std::size_t rank_running(const View& view);
  void add_running(const View& view, JobId job);
  bool sits_out(const View& view, const DemandClass& demand_class) const;
  void select_by_count(const View& view, std::size_t next);
  bool make_room(const View& view, Draft& draft, JobId job, const Rank& rank);
  bool displace(const View& view, Draft& draft, JobId job,
                std::vector<std::pair<JobId, Placement>>& displaced);
  bool may_displace(const View& view, JobId job, const Rank& rank, const RankedJob& other) const;
  // Whether min_run still protects the job from preemption. Always, on an unschedulable node.
  bool is_protected(const View& view, JobId job) const;
  Instant safe_until(const View& view, JobId job) const;
  void review_young(Instant when);
  void await_growth(const View& view);
  void defer_for_young(const View& view, std::int32_t free);

  // With tenants (composed_planner_tenants.cc).
  class TenantSelection;
  class Lending;
  class Eviction;
  void charge_all(const View& view, const Draft& draft);
  void select_by_count_and_tenant(const View& view, std::int32_t free_gpus);
  void fill_by_tenants(const View& view, Draft& draft);
  std::size_t distance(const DemandClass& demand_class) const;
  bool reclaim_for(const View& view, Draft& draft, JobId job);
  bool is_within(const DemandClass& demand_class) const;

  class QueueOrder;  // Implements queue_order() with tenants.

  // Adaptive mechanisms: allocate the CPU and memory of all jobs again.
  void rebalance(const View& view, Draft& draft);
  void bring_back(const View& view, Draft& draft);
  void write(Draft& draft, const View& view);

  const Cluster* cluster_;
  Owned<Policy> policy_;
  Owned<Mechanism> mechanism_;
  Owned<Placer> placer_;
  ComposedPlannerOptions options_;
  PolicyTraits traits_;
  bool adaptive_;
  std::vector<DemandClass> classes_;
  IdVector<JobId, QueueSeat> seats_;
  IdVector<JobId, Instant> estimated_end_;  // For placed jobs, if the policy reserves.
  RunningRanks running_;                    // Filled only for policies that preempt.
  std::vector<std::size_t> young_;          // Buffer: protected jobs, as indices in `running_`.
  std::vector<JobId> selected_;             // Waiting jobs that should run, by GPU count, in order.
  std::vector<JobId> starts_;               // Jobs that got GPUs in this plan.
  std::vector<JobId> stops_;                // Jobs stopped in this plan.
  std::vector<JobId> moved_;                // Waiting jobs whose rank changed.
  std::vector<std::pair<Instant, std::int32_t>> ends_;  // Buffer for reservations.
  std::vector<Ask> asks_;
  std::vector<JobId> returning_;   // Jobs stopped in this plan that free GPUs for no other job.
  std::int64_t waiting_gpus_ = 0;  // Total request of all waiting jobs.
  std::int32_t budget_ = 0;        // GPUs not yet assigned in this plan; for adaptive mechanisms.
  bool ever_particular_ = false;   // A job has requested CPU, memory or a spread at some time.
  bool particular_ = false;        // An active job does now, and the mechanism is adaptive.
  bool set_changed_ = false;       // A job ended since the last rebalance.
  Instant young_until_ = Instant::never();   // When the protection of a job in this plan ends.
  std::optional<BackfillReservation> kept_;  // Reservation of the last plan.
  std::optional<Tenancy> tenancy_;
  bool may_reclaim_ = false;                // For the current plan.
  IdVector<JobId, std::uint8_t> borrowed_;  // Tenancy::distance() of its GPUs; 0: not borrowed.
  std::vector<std::size_t> deferred_;       // Buffer: running jobs to decide on in this round.
  std::vector<JobId> lent_;                 // Buffer: running jobs on borrowed GPUs.
  std::int64_t estimates_seen_ = 0;
  double estimate_sum_us_ = 0;  // Over all enqueued jobs; the scale of remaining work.
};

}  // namespace muster
