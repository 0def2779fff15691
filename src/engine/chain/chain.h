#pragma once

// The usual planner: policy (who is next) -> mechanism (how much beside the GPUs) -> placement
// (where), each swappable alone. Waiting jobs are kept by class of demand: see demand_class.h.

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

class Chain final : public Planner {
 public:
  Chain(const Cluster& cluster, Owned<Policy> policy, Owned<Mechanism> mechanism,
        Owned<Placer> placer, const ChainOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  bool could_avoid(const JobSpec& spec, std::span<const NodeId> servers) const override;
  void enqueue(const View& view, JobId job) override;
  void reseat(const View& view, JobId job) override;
  void revised(const View& view, JobId job) override;
  bool resume(const View& view, Draft& draft, JobId job, Placement placement) override;
  void forget(const View& view, JobId job, Farewell farewell) override;
  void plan(const View& view, Draft& draft, Occasion occasion) override;
  bool drifts() const override { return traits_.preempts && traits_.drifts; }
  Instant review_at() const override;
  WaitSplit waited(JobId job, Instant now) const override;
  std::vector<JobId> fronts(Instant now) const override;
  std::optional<std::vector<JobId>> line(const View& view, std::size_t most) const override;
  std::optional<KeptFree> kept_free() const override { return kept_; }

  // How the engine must count CPU and memory for these parts.
  Pooling pooling() const;

 private:
  using Shape = DemandClass;
  using Seat = QueueSeat;

  std::uint32_t shape_of(const JobSpec& spec, std::span<const NodeId> avoid = {});
  std::optional<std::string> find_refusal(const JobSpec& spec) const;
  Rank rank_of(const View& view, JobId job) const;
  void seat(const View& view, JobId job);
  void unseat(JobId job, Instant now);
  void review(const View& view);
  void note_causes(const View& view, const Draft& draft);
  Ask ask_for(const View& view, JobId job) const;

  // Without preemption: jobs start on what is free, in the policy's order.
  void fill(const View& view, Draft& draft, std::optional<std::size_t> near = {});
  class Backfill;  // Behind a reservation for the first job.
  Shape* next_in_order(std::int32_t free_gpus, Instant now, std::optional<std::size_t> near);
  bool is_passed_by(const Shape& shape, Instant now) const;
  bool served_before(const Shape& a, const Shape& b, Instant now) const;
  Shape* best_aligned(const View& view, const Draft& draft, std::int32_t free_gpus,
                      std::optional<std::size_t> near);
  std::int32_t free_gpus(const Draft& draft) const;
  bool fits_budget(const View& view, const Draft& draft, JobId job) const;
  bool take(const View& view, Draft& draft, JobId job);
  // Of adaptive mechanisms, where somebody asks for more than GPUs (chain_least.cc).
  bool anyone_particular(const View& view) const;
  bool all_have_place(const View& view, const Draft& draft, std::optional<JobId> another) const;
  void keep_displaced(const View& view, Draft& draft,
                      const std::vector<std::pair<JobId, Placement>>& displaced);
  void note_start(const View& view, JobId job);

  // With preemption: the jobs that should run are those first in order that fit by GPU count.
  void preempt(const View& view, Draft& draft);
  // Then what was last known of a running job's rank is no better than the truth. (Stable ties get
  // worse with running.)
  bool ranks_only_improve() const;
  bool nobody_can_gain(const View& view, const Draft& draft);
  std::size_t rank_running(const View& view);
  void add_running(const View& view, JobId job);
  bool sits_out(const View& view, const Shape& shape) const;
  void select_by_count(const View& view, std::size_t next);
  bool make_room(const View& view, Draft& draft, JobId job, const Rank& rank);
  bool displace(const View& view, Draft& draft, JobId job,
                std::vector<std::pair<JobId, Placement>>& displaced);
  bool may_displace(const View& view, JobId job, const Rank& rank, const RankedJob& other) const;
  // Has not yet held its GPUs for min_run.
  bool is_protected(const View& view, JobId job) const;
  Instant safe_until(const View& view, JobId job) const;
  void review_young(Instant when);
  void await_growth(const View& view);

  // With tenants (chain_tenants.cc).
  class TenantSelection;
  class Lending;
  class Eviction;
  void charge_all(const View& view, const Draft& draft);
  void select_by_count_and_tenant(const View& view, std::int32_t free_gpus);
  void fill_by_tenants(const View& view, Draft& draft);
  std::size_t distance(const Shape& shape) const;
  bool reclaim_for(const View& view, Draft& draft, JobId job);
  bool is_within(const Shape& shape) const;

  class QueueOrder;  // Who would start before whom (chain_line.cc).

  // Adaptive mechanisms: everybody's share anew.
  void rebalance(const View& view, Draft& draft);
  void bring_back(const View& view, Draft& draft);
  void rebuild(const View& view, Draft& draft);
  void write(Draft& draft, const View& view);

  const Cluster* cluster_;
  Owned<Policy> policy_;
  Owned<Mechanism> mechanism_;
  Owned<Placer> placer_;
  ChainOptions options_;
  PolicyTraits traits_;
  bool adaptive_;
  std::vector<Shape> shapes_;
  IdVector<JobId, Seat> seats_;
  IdVector<JobId, Instant> believed_end_;  // Of placed jobs, when the policy reserves.
  RunningRanks running_;                   // Kept only for policies that preempt.
  std::vector<std::size_t> young_;         // Buffer: those of `running_` that are safe for now.
  std::vector<JobId> selected_;            // Waiting jobs that should run, by GPU count, in order.
  std::vector<JobId> starts_;              // Those that got it in this plan.
  std::vector<JobId> stops_;               // Of this plan.
  std::vector<JobId> moved_;               // Waiting jobs whose rank changed.
  std::vector<std::pair<Instant, std::int32_t>> ends_;  // Buffer for reservations.
  std::vector<Ask> asks_;
  std::vector<JobId> returning_;   // Stopped in this plan for nobody.
  std::int64_t waiting_gpus_ = 0;  // Wanted by all waiting jobs together.
  std::int32_t budget_ = 0;        // GPUs not yet promised in this plan, for adaptive mechanisms.
  bool ever_particular_ = false;   // Some job asked for CPU, memory or a spread;
  bool particular_ = false;   // one of those there are now does, and the mechanism is adaptive.
  bool set_changed_ = false;  // A job ended since the last rebalance.
  Instant young_until_ = Instant::never();  // When somebody safe in this plan can be stopped.
  std::optional<KeptFree> kept_;            // By the last plan.
  std::optional<Tenancy> tenancy_;
  bool may_reclaim_ = false;                // In this plan.
  IdVector<JobId, std::uint8_t> borrowed_;  // How far away a job's GPUs are borrowed; 0: its own.
  std::vector<std::size_t> deferred_;       // Buffer: running jobs that only borrow.
  std::vector<JobId> lent_;                 // Buffer: running jobs on borrowed GPUs.
  std::int64_t estimates_seen_ = 0;
  double estimate_sum_us_ = 0;  // Of all jobs enqueued, for the scale of "remaining work".
};

}  // namespace muster
