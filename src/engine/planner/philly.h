#pragma once

// Philly's scheduler: gangs with locality that is relaxed when it cannot be had. A job is queued
// until it is within its tenant's part or as many GPUs as it wants are idle. Then it asks for
// certain servers and waits for those; when it has not got its gang after a while it looks around
// once more, then gives up for a while and begins anew, after some tries with less locality. Jobs
// may overtake each other. It never holds part of a gang.
//
//   queued --(it may have that many GPUs)--> asking --(gang free on the servers asked for)--> runs
//     ^                                        | timeout: looks everywhere at its level once
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
  Duration acquire = Duration::seconds(180);   // How long it waits for the servers it asked for.
  Duration back_off = Duration::seconds(120);  // How long it gives up.
  std::int32_t relax_after = 1;                // Tries at each level; 0: locality is never relaxed.
  const TenantTree* tenants = nullptr;         // Must outlive the planner.
  Duration min_run;                            // As ChainOptions::min_run.
};

class Philly final : public Planner {
 public:
  // `cluster` must outlive it.
  Philly(const Cluster& cluster, const PhillyOptions& options);

  std::optional<std::string> refuse(const JobSpec& spec) override;
  bool could_avoid(const JobSpec& spec, std::span<const NodeId> servers) const override;
  void enqueue(const View& view, JobId job) override;
  bool resume(const View& view, Draft& draft, JobId job, Placement placement) override;
  void forget(const View& view, JobId job, Farewell farewell) override;
  void plan(const View& view, Draft& draft, Occasion occasion) override;
  bool drifts() const override { return false; }
  Instant review_at() const override;
  WaitSplit waited(JobId job, Instant now) const override;
  std::vector<JobId> fronts(Instant /*now*/) const override {
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
    Locality level = Locality::kFewestServers;
    bool own = false;  // It asks for what is its tenant's right, not for what is idle.
    std::int32_t tries = 0;
    std::uint32_t group = 0;
    std::uint32_t turn = 0;     // Of its timer: an older one is void.
    Instant until;              // Of its phase.
    std::vector<NodeId> asked;  // While asking.
    WaitSplit waited;           // While it waits in its group, see CauseClock.
    Instant backing_off_since;
  };
  // Jobs of one tenant and size, that ask for the same and avoid the same servers, wait for one
  // reason at a time, unless they have backed off. Groups that avoid servers or ask for more than
  // GPUs are used again when nobody is in them.
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
    std::int64_t tickets = 0;  // Of jobs that wait, those that claim and back off included.
    bool claims = false;       // Those of the group before it that ask for what is their right.
    std::int64_t waiting = 0;
    std::set<JobId> queued;  // The oldest first.
    bool out = false;        // No place for any of them in this plan.
    CauseClock clock;
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
  Group* next_to_admit(const Books& books);
  bool may_ask(const Group& group, const Books& books) const;
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
  std::vector<Timer> timers_;                      // A heap; some are void.
  IdVector<NodeId, std::vector<JobId>> asked_of_;  // Who asks for a server.
  std::vector<NodeId> freed_;                      // Servers on which something was given back.
  std::vector<JobId> turn_;                        // Those to look at in this plan.
  std::vector<JobId> asking_;
  bool queued_since_plan_ = false;
  bool look_at_all_ = false;
  std::int64_t asking_gpus_ = 0;  // Wanted by those that ask and are not within their part.
  Instant last_plan_;
};

}  // namespace muster
