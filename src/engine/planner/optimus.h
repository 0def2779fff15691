#pragma once

// Optimus' scheduler (Peng et al., EuroSys 2018): every round it shares out the GPUs anew, one
// worker at a time to the job that gains most by it. How long a job still has it knows only from
// what the job reports: losses, to which it fits a curve that says when it will have converged, and
// speeds, of all jobs of its sort, to which it fits how speed grows with workers. Where the engine
// is told how long a job still takes (JobForeseen), that counts instead of the curve. A job whose
// number of workers changes is restarted. Runs in rounds (EngineOptions::round).
//
// First every job gets the fewest GPUs it runs with, the oldest first: so none starves, though a
// younger one may be stopped for it. With tenants, what is within their parts is shared out first,
// and only what is left then is lent. A gang has GPUs of one type; jobs that name none go where
// most are idle.

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
  Duration min_run;                     // As ChainOptions::min_run.
  // What a job is believed to lose by a change of its workers, so that they change hands only where
  // that is worth two restarts. The original counts it as nothing, though gains shift every round.
  Duration restart_cost = Duration::seconds(40);
};

class Optimus final : public Planner {
 public:
  // `cluster` must outlive it.
  Optimus(const Cluster& cluster, const OptimusOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  void enqueue(const View& view, JobId job) override;
  bool resume(const View& view, Draft& draft, JobId job, Placement placement) override;
  void revised(const View& view, JobId job) override;
  void forget(const View& view, JobId job, Farewell farewell) override;
  void plan(const View& view, Draft& draft, Occasion occasion) override;
  bool drifts() const override { return true; }
  Instant review_at() const override;
  Reports wants_reports() const override { return Reports::kAll; }
  void observe(const View& view, const JobReported& report) override;
  void observe(const View& view, const TypeMeasured& trial) override;
  WaitSplit waited(JobId job, Instant now) const override;

 private:
  struct Ticket {
    bool seen = false;
    bool known = false;  // Runs or waits: it is neither over nor parked.
    bool waits = false;
    bool foreseen = false;  // How much it still has to do is told, not fitted here.
    std::uint32_t group = 0;
    WaitSplit waited;  // While it waits in its group, see CauseClock.
  };
  // Waiting jobs of one tenant and size: they are served by age, and wait for one reason at a time.
  struct Group {
    TenantId tenant;
    std::int32_t least;
    std::optional<GpuTypeId> gpu_type;
    std::set<JobId> queued = {};           // The oldest first.
    std::set<JobId>::const_iterator next;  // Of those not served in this plan; end() for none.
    CauseClock clock;
  };
  // The GPUs of one type, while a plan is made.
  struct Pool {
    std::int64_t left = 0;       // Given to nobody so far.
    std::int64_t idle = 0;       // Of these, as many as nobody holds now.
    std::int64_t unclaimed = 0;  // All but the least of each job served: what the next could have
                                 // if there were nobody too young to be stopped.
    // An older job only waits until young ones may be stopped. Nothing begins here meanwhile, lest
    // there always be somebody young.
    bool awaited = false;
  };
  // Who may get something in a plan.
  struct Candidate {
    JobId job;
    GpuTypeId pool;         // Where it has its GPUs, or is to.
    std::int32_t held = 0;  // GPUs; 0: it waits.
    std::int32_t give = 0;  // What it is to have.
    bool safe = false;      // Keeps what it holds, whatever others want.
    bool moves = false;     // To another pool than it has GPUs in.
  };
  enum class Right : std::uint8_t {
    kOwn,  // Within its tenant's part.
    kAny,  // Whatever is left.
  };

  std::uint32_t group_of(const JobSpec& spec);
  std::int32_t wanted_by(const JobSpec& spec) const;
  void charge(const JobSpec& spec, std::int64_t gpus);
  void note_start(const View& view, JobId job);
  void note_causes(const View& view, const Draft& draft);

  // optimus_share.cc: who gets how many.
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
  double foreseen_steps(const View& view, const Candidate& candidate,
                        const std::vector<double>& speeds) const;

  // optimus_write.cc: where they get them.
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
  // Of the plan being made.
  IdVector<GpuTypeId, Pool> pools_;
  std::vector<Candidate> candidates_;  // Placed jobs by age, then those that are to start.
  std::size_t placed_ = 0;             // How many are placed.
  bool may_await_ = false;
  std::vector<std::size_t> growing_;  // Indices of candidates.
  std::vector<ElasticJob> elastic_;
  std::vector<int> workers_;
};

}  // namespace muster
