#pragma once

// Philly's scheduler: gangs with locality that is relaxed over time. A queued job may ask if it is
// within its tenant's entitlement or enough GPUs are idle. It then asks for certain nodes and waits
// for them. After a timeout it searches all nodes once, backs off, and starts again, after some
// tries with less locality. Jobs may overtake each other. A job never holds part of a gang.
//
//   queued --(it may have that many GPUs)--> asking --(gang free on the nodes asked for)--> runs
//     ^                                        | timeout: searches all nodes at its level once
//     |                                        v
//     +---------------(time over)-------- backing off; after every `relax_after` tries a level down

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/chain/tenancy.h"
#include "engine/core/planner.h"
#include "engine/planner/locality.h"

namespace muster {

struct PhillyOptions {
  // Both positive.
  Duration acquire = Duration::seconds(180);   // How long a job waits for the nodes it asked for.
  Duration back_off = Duration::seconds(120);  // Length of a back-off.
  std::int32_t relax_after = 1;                // Tries per level; 0: locality is never relaxed.
  const TenantTree* tenants = nullptr;         // Must outlive the planner.
  Duration min_run;                            // As ComposedPlannerOptions::min_run.
};

class Philly final : public Planner {
 public:
  // `cluster` must outlive the planner.
  Philly(const Cluster& cluster, const PhillyOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  bool could_avoid(const JobSpec& spec, std::span<const NodeId> nodes) const override;
  void enqueue(const View& view, JobId job) override;
  bool resume(const View& view, Draft& draft, JobId job, Placement placement) override;
  void forget(const View& view, JobId job, JobExit job_exit) override;
  void plan(const View& view, Draft& draft, PlanTrigger trigger) override;
  bool drifts() const override { return false; }
  Instant review_at() const override;
  WaitSplit waited(JobId job, Instant now) const override;
  std::vector<JobId> class_heads(Instant /*now*/) const override {
    std::vector<JobId> jobs = asking_;
    for (const Group& group : groups_) {
      if (!group.queued.empty()) jobs.push_back(*group.queued.begin());
    }
    return jobs;
  }

 private:
  enum class Phase : std::uint8_t { kQueued, kAsking, kBackingOff };
  struct Ticket {
    bool waits = false;
    Phase phase = Phase::kQueued;
    Locality level = Locality::kMinNodes;
    bool own = false;  // It asks within its tenant's entitlement, not for idle GPUs.
    std::int32_t tries = 0;
    std::uint32_t group = 0;
    std::uint32_t turn = 0;     // Number of its current timer; older timers are void.
    Instant until;              // End of its phase.
    std::vector<NodeId> asked;  // Nodes it asks for; only in phase kAsking.
    WaitSplit waited;           // While it waits, see WaitCauseTimer.
    Instant backing_off_since;
  };
  // Waiting jobs of one tenant with equal requests and equal nodes to avoid. They have the same
  // wait cause, unless they back off. Groups with special requests (is_rare()) are reused when
  // empty.
  struct Group {
    TenantId tenant;
    std::int32_t gpus;
    std::optional<GpuTypeId> gpu_type;
    Resources least;
    std::int32_t spread = 0;
    std::vector<NodeId> avoid;
    bool is_for(TenantId whose, const JobSpec& spec, std::span<const NodeId> avoided) const {
      return tenant == whose && gpus == spec.gpus && gpu_type == spec.gpu_type &&
             least == spec.least && spread == spec.spread && std::ranges::equal(avoid, avoided);
    }
    bool is_rare() const { return !avoid.empty() || spread > 0 || least != Resources(); }
    std::int64_t tickets = 0;  // Waiting jobs, including asking and backing-off jobs.
    // Contains the jobs of the previous group that ask within their entitlement.
    bool claims = false;
    std::int64_t waiting = 0;
    std::set<JobId> queued;  // Oldest first.
    bool out = false;        // No job of the group can start in this plan.
    WaitCauseTimer clock;
  };
  struct Timer {
    Instant at;
    JobId job;
    std::uint32_t turn;
    friend bool operator>(const Timer& a, const Timer& b) {
      return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
  };

  static Demand demand_of(const JobSpec& spec, std::span<const NodeId> avoid) {
    return {spec.gpus, spec.gpu_type, std::nullopt, spec.profile,
            0,         avoid,         spec.least,   spec.spread};
  }
  static Demand demand_of(const View& view, JobId job) {
    return demand_of(view.spec(job), view.avoided(job));
  }
  std::uint32_t group_of(const JobSpec& spec, std::span<const NodeId> avoid);
  bool is_own(const JobSpec& spec) const;
  void join(Ticket& ticket, Instant now);
  void leave(Ticket& ticket, Instant now);
  void charge(const JobSpec& spec, std::int32_t sign);
  void begin_turns(const View& view);
  void gather(const View& view);
  void set_phase(JobId job, Phase phase, Instant until);
  void stop_asking(const View& view, JobId job);
  Group* next_to_admit(const ResourceLedger& ledger);
  bool may_ask(const Group& group, const ResourceLedger& ledger) const;
  bool look(const View& view, Draft& draft, JobId job);
  void attend(const View& view, Draft& draft, JobId job);
  void admit(const View& view, Draft& draft, Group& group);
  bool start(const View& view, Draft& draft, JobId job, Placement placement);
  void note_start(const View& view, JobId job);
  bool reclaim(const View& view, Draft& draft, JobId job);
  void note_causes(const View& view, const Draft& draft);

  const Cluster* cluster_;
  PhillyOptions options_;
  std::optional<Tenancy> tenancy_;
  IdVector<JobId, Ticket> tickets_;
  std::vector<Group> groups_;
  std::vector<Timer> timers_;                      // A heap; may contain void timers.
  IdVector<NodeId, std::vector<JobId>> asked_of_;  // Jobs that ask for each node.
  std::vector<NodeId> freed_;                      // Nodes on which resources were released.
  std::vector<JobId> turn_;                        // Jobs to review in this plan.
  std::vector<JobId> asking_;
  bool queued_since_plan_ = false;
  bool look_at_all_ = false;
  std::int64_t asking_gpus_ = 0;  // GPUs of asking jobs above their entitlement.
  Instant last_plan_;
};

}  // namespace muster
