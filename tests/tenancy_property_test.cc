// Properties of tenants and preemption for any workload: over a thousand small random workloads,
// under each policy, with checks at each step of the engine.

#include <gtest/gtest.h>

#include <cstdlib>

#include "campaign.h"
#include "tenancy_scenes.h"
#include "tenancy_stage.h"

namespace muster {
namespace {

std::uint64_t scene_count() { return campaign_size(1000, 20'000); }

std::string text_of(const Scene& scene) {
  const SimOptions& options = scene.options;
  std::string text = options.parts.policy + ", " + options.parts.mechanism + ", " +
                     options.parts.placement + ", " + std::to_string(scene.topology.node_count()) +
                     " servers, min_run " + std::to_string(options.min_run.us() / 1'000'000) +
                     ", round " + std::to_string(options.round.us() / 1'000'000) + ", by " +
                     std::string(name_of(scene.tenants.sharing())) + " from " +
                     std::to_string(scene.tenants.reclaim_permille()) + " on:";
  for (std::size_t i = 0; i < scene.tenants.size(); ++i) {
    const Tenant& tenant = scene.tenants[TenantId(i)];
    text +=
        " " + tenant.name + (tenant.parent ? " below lab " : " ") + std::to_string(tenant.quota);
  }
  return text;
}

bool share_a_gpu(const Placement& a, const Placement& b) {
  return std::any_of(a.begin(), a.end(), [&](const Share& mine) {
    return std::any_of(b.begin(), b.end(), [&](const Share& other) {
      return mine.node == other.node && (mine.slots & other.slots) != 0;
    });
  });
}
bool share_a_node(const Placement& a, const Placement& b) {
  return std::any_of(a.begin(), a.end(), [&](const Share& mine) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Share& other) { return mine.node == other.node; });
  });
}

// Returns whether the placement needs more than a sufficient number of free GPUs.
bool wants_one_node(const SchedulerParts& parts) {
  return parts.placement == "yarn" || parts.placement == "skew";
}

// Compares the placed jobs before and after each step.
class PreemptionWatcher final : public Stage::Watcher {
 public:
  std::size_t evictions() const { return evictions_; }
  std::size_t between_tenants() const { return between_tenants_; }

  void before(const Stage& stage) override {
    placed_.clear();
    const State& state = stage.engine().state();
    for (const JobId job : state.placed) {
      const Lease& lease = stage.engine().lease(job);
      const auto held = stage.held().find(job);
      const bool runs = lease.state != Lease::State::kPromised && held != stage.held().end();
      placed_[job] = {lease.epoch, lease.placement, runs ? held->second.since : Instant::never()};
    }
  }

  void after(const Stage& stage) override {
    const State& state = stage.engine().state();
    std::vector<JobId> started;
    std::vector<JobId> granted;  // Includes jobs that move.
    for (const JobId job : state.placed) {
      const auto was = placed_.find(job);
      if (was != placed_.end() && was->second.epoch == stage.engine().lease(job).epoch) continue;
      granted.push_back(job);
      if (was == placed_.end()) started.push_back(job);
      if (was != placed_.end()) check_min_run(stage, job, was->second, "moved");
    }
    for (const JobId job : started) {
      const auto found = evicted_.find(job);
      if (found == evicted_.end() || found->second.first != stage.now()) continue;
      EXPECT_FALSE(share_a_node(found->second.second, stage.engine().lease(job).placement))
          << "job " << job.index() << " evicted and put back at " << stage.now().in_seconds();
    }
    for (const auto& [job, was] : placed_) {
      if (state.jobs[job].state != JobState::kWaiting) continue;
      ++evictions_;
      evicted_[job] = {stage.now(), was.placement};
      check_min_run(stage, job, was, "evicted");
      check_gain(stage, job, was, started, granted);
      check_right(stage, job, started);
    }
  }

 private:
  struct Was {
    Epoch epoch;
    Placement placement;
    Instant since;  // never() for a promised lease that has not started.
  };

  void check_min_run(const Stage& stage, JobId job, const Was& was, const char* what) const {
    if (was.since == Instant::never()) return;
    EXPECT_GE(stage.now() - was.since, stage.scene().options.min_run)
        << "job " << job.index() << " " << what << " at " << stage.now().in_seconds();
  }

  // A stop must let a job start, and its GPUs must go to that job or to one that had to move.
  void check_gain(const Stage& stage, JobId job, const Was& was, const std::vector<JobId>& started,
                  const std::vector<JobId>& granted) const {
    EXPECT_FALSE(started.empty()) << "job " << job.index() << " stopped for nobody at "
                                  << stage.now().in_seconds();
    EXPECT_TRUE(std::any_of(granted.begin(), granted.end(),
                            [&](JobId other) {
                              return share_a_gpu(was.placement,
                                                 stage.engine().lease(other).placement);
                            }))
        << "nobody uses the GPUs of job " << job.index() << " at " << stage.now().in_seconds();
  }

  // A tenant never loses a job to another tenant if the job would be within its quota.
  void check_right(const Stage& stage, JobId job, const std::vector<JobId>& started) {
    const State& state = stage.engine().state();
    const TenantTree& tenants = stage.scene().tenants;
    const auto tenant_of = [&](JobId each) { return state.jobs[each].spec.tenant; };
    if (std::any_of(started.begin(), started.end(),
                    [&](JobId other) { return tenant_of(other) == tenant_of(job); })) {
      return;
    }
    ++between_tenants_;
    if (tenants.sharing() != Sharing::kQuota || finds_no_place_for_its_choice(stage)) return;
    std::int64_t used = state.jobs[job].spec.gpus;
    for (const JobId other : state.placed) {
      if (tenant_of(other) == tenant_of(job)) used += state.jobs[other].spec.gpus;
    }
    EXPECT_GT(used, tenants[tenant_of(job)].quota)
        << "job " << job.index() << " of " << tenants[tenant_of(job)].name << " taken by others at "
        << stage.now().in_seconds();
  }

  // Preempting policies choose victims by number of GPUs. If a gang needs a single node, a tenant
  // may lose a job to another of its jobs, which then finds no placement. Other jobs may then get
  // the GPUs.
  static bool finds_no_place_for_its_choice(const Stage& stage) {
    const SchedulerParts& parts = stage.scene().options.parts;
    const PolicyOptions defaults;
    const auto policy = find_entry(policies(), "policy", parts.policy).value()->make(defaults);
    return wants_one_node(parts) && policy->traits().preempts;
  }

  std::map<JobId, Was> placed_;
  std::map<JobId, std::pair<Instant, Placement>> evicted_;
  std::size_t evictions_ = 0;
  std::size_t between_tenants_ = 0;
};

TEST(TenancyProperty, NoPreemptionIsInVain) {
  std::size_t evictions = 0;
  std::size_t between_tenants = 0;
  for (std::uint64_t seed = 0; seed < scene_count(); ++seed) {
    const Scene scene = SceneMaker(seed).scene();
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed << ": " << text_of(scene));
    PreemptionWatcher watcher;
    Stage stage(scene, watcher);
    stage.run();
    if (HasFailure()) return;
    evictions += watcher.evictions();
    between_tenants += watcher.between_tenants();
    SimOptions options = scene.with_tenants();
    options.check_invariants = true;
    const SimResult result = simulate(scene.trace, scene.topology, scene_profiles(), options);
    ASSERT_EQ(result.digest, stage.engine().digest()) << "the stage is not what simulate() does";
    for (std::size_t i = 0; i < result.jobs.size(); ++i) {
      const JobOutcome& job = result.jobs[i];
      ASSERT_TRUE(job.fate == JobResult::kFinished || job.fate == JobResult::kRejected)
          << "job " << i;
    }
  }
  EXPECT_GT(evictions, campaign_floor(2000U)) << "or there was nothing to watch";
  EXPECT_GT(between_tenants, campaign_floor(500U));
}

// The end of a job's minimum run time triggers a plan even in an idle round.
TEST(TenancyProperty, IdleRoundsMakeNoDifference) {
  std::size_t with_min_run = 0;
  for (std::uint64_t seed = 0; seed < scene_count() / 2; ++seed) {
    SceneMaker maker(seed);
    SceneMaker::Setting setting = maker.setting();
    if (setting.options.round == Duration()) setting.options.round = Duration::seconds(60);
    const Scene scene = maker.scene(setting);
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed << ": " << text_of(scene));
    SimOptions options = scene.with_tenants();
    const auto digest = [&] {
      return simulate(scene.trace, scene.topology, scene_profiles(), options).digest;
    };
    const std::uint64_t usual = digest();
    options.plan_idle_rounds = true;
    EXPECT_EQ(digest(), usual) << "idle rounds make a difference";
    options.plan_idle_rounds = false;
    options.min_run = Duration();
    with_min_run += digest() != usual;
    if (HasFailure()) return;
  }
  EXPECT_GT(with_min_run, campaign_floor(50U)) << "or nobody was ever safe";
}

class GangWatcher final : public Stage::Watcher {
 public:
  std::size_t gangs() const { return gangs_; }
  void after(const Stage& stage) override {
    std::map<NodeId, SlotMask> used;
    for (const auto& [job, held] : stage.held()) {
      std::int32_t gpus = 0;
      for (const Share& share : held.placement) {
        EXPECT_EQ(used[share.node] & share.slots, 0U) << "a GPU held twice";
        used[share.node] |= share.slots;
        gpus += share.gpus();
      }
      EXPECT_EQ(gpus, stage.engine().state().jobs[job].spec.gpus)
          << "job " << job.index() << " at " << stage.now().in_seconds();
      ++gangs_;
    }
    // Planned leases of other jobs do not hold GPUs yet, but must be complete gangs, too.
    for (const Lease& lease : stage.engine().state().leases) {
      if (lease.state == Lease::State::kUnused) continue;
      EXPECT_EQ(total_of(lease.placement).gpus, stage.engine().state().jobs[lease.job].spec.gpus);
    }
  }

 private:
  std::size_t gangs_ = 0;
};

// J (3): a gang never holds only a part of its GPUs.
TEST(Sanity, J3_GangsNeverHoldPartOfTheirGpus) {
  std::size_t gangs = 0;
  for (std::uint64_t seed = 0; seed < scene_count(); ++seed) {
    const Scene scene = SceneMaker(seed).scene();
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed << ": " << text_of(scene));
    GangWatcher watcher;
    Stage(scene, watcher).run();
    if (HasFailure()) return;
    gangs += watcher.gangs();
  }
  EXPECT_GT(gangs, campaign_floor(100'000U));
}

// J (4): the wait causes (fair share, fragmentation and others) add up to the total waiting time.
TEST(Sanity, J4_CausesAddUpToWaiting) {
  WaitSplit all;
  std::size_t over_on_arrival = 0;
  for (std::uint64_t seed = 0; seed < scene_count(); ++seed) {
    const Scene scene = SceneMaker(seed).scene();
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed << ": " << text_of(scene));
    SimOptions options = scene.with_tenants();
    if (seed % 5 == 0) options.tenants = nullptr;
    const SimResult result = simulate(scene.trace, scene.topology, scene_profiles(), options);
    for (std::size_t i = 0; i < result.jobs.size(); ++i) {
      const JobOutcome& job = result.jobs[i];
      Duration sum;
      for (std::size_t cause = 0; cause < kWaitCauses; ++cause) {
        ASSERT_GE(job.waiting.by_cause[cause], Duration()) << "job " << i;
        sum += job.waiting.by_cause[cause];
        all.by_cause[cause] += job.waiting.by_cause[cause];
      }
      if (job.fate == JobResult::kRejected) continue;
      ASSERT_EQ(job.fate, JobResult::kFinished);
      ASSERT_EQ(sum, job.wait()) << "job " << i;
      if (options.tenants == nullptr) {
        ASSERT_EQ(job.waiting[WaitCause::kFairShare], Duration()) << "there is no share";
        ASSERT_FALSE(job.waiting.over_part_on_arrival);
      }
      over_on_arrival += job.waiting.over_part_on_arrival;
    }
  }
  for (const WaitCause cause :
       {WaitCause::kFairShare, WaitCause::kFragmentation, WaitCause::kOrder}) {
    EXPECT_GT(all[cause].in_seconds(), campaign_floor(10'000.0)) << static_cast<int>(cause);
  }
  EXPECT_GT(over_on_arrival, campaign_floor(1000U));
}

// Searches for a tenant below its quota whose waiting job would fit without the jobs that are
// completely above the quotas of other tenants.
class QuotaWatcher final : public Stage::Watcher {
 public:
  std::size_t looked() const { return looked_; }

  void settled(const Stage& stage) override {
    const State& state = stage.engine().state();
    const TenantTree& tenants = stage.scene().tenants;
    const std::int64_t total = stage.scene().topology.total().gpus;
    if ((total - state.ledger.free_gpus()) * 1000 < total * tenants.reclaim_permille()) return;
    std::map<TenantId, std::int64_t> used;
    for (const JobId job : state.placed) {
      used[state.jobs[job].spec.tenant] += state.jobs[job].spec.gpus;
    }
    ResourceLedger without = state.ledger;
    bool any = false;
    for (const JobId job : borrowers(stage, used)) {
      for (const Share& share : stage.engine().lease(job).placement) without.give(share);
      any = true;
    }
    if (!any) return;
    ++looked_;
    const auto placer = find_entry(placements(), "placement", stage.scene().options.parts.placement)
                            .value()
                            ->make();
    for (std::size_t i = 0; i < state.jobs.size(); ++i) {
      const Job& job = state.jobs[JobId(i)];
      if (job.state != JobState::kWaiting) continue;
      if (used[job.spec.tenant] + job.spec.gpus > tenants[job.spec.tenant].quota) continue;
      Demand demand;
      demand.gpus = job.spec.gpus;
      demand.profile = job.spec.profile;
      Placement found;
      EXPECT_FALSE(placer->place(stage.cluster(), without, demand, found))
          << "job " << i << " of " << tenants[job.spec.tenant].name << " waits for its own at "
          << stage.now().in_seconds();
    }
  }

 private:
  // Returns the jobs above the quotas of their tenants, independent of the policy. Under fit-first,
  // the first jobs are within the quota. Policies that rank may choose other jobs, but at least as
  // many GPUs: the last jobs of a tenant, as long as the rest fills its quota.
  static std::vector<JobId> borrowers(const Stage& stage, std::map<TenantId, std::int64_t> used) {
    const State& state = stage.engine().state();
    const TenantTree& tenants = stage.scene().tenants;
    std::vector<JobId> by_age = state.placed;
    std::sort(by_age.begin(), by_age.end(), [&](JobId a, JobId b) {
      return std::pair(stage.engine().lease(a).ordered, a) <
             std::pair(stage.engine().lease(b).ordered, b);
    });
    std::vector<JobId> lent;
    if (stage.scene().options.parts.policy == "fit-first") {
      used.clear();
      for (const JobId job : by_age) {
        const JobSpec& spec = state.jobs[job].spec;
        if (used[spec.tenant] + spec.gpus > tenants[spec.tenant].quota) {
          lent.push_back(job);
        } else {
          used[spec.tenant] += spec.gpus;
        }
      }
      return lent;
    }
    std::reverse(by_age.begin(), by_age.end());
    for (const JobId job : by_age) {
      const JobSpec& spec = state.jobs[job].spec;
      if (used[spec.tenant] - spec.gpus < tenants[spec.tenant].quota) {
        used[spec.tenant] = tenants[spec.tenant].quota;  // Skips the rest of this tenant.
        continue;
      }
      used[spec.tenant] -= spec.gpus;
      lent.push_back(job);
    }
    return lent;
  }

  std::size_t looked_ = 0;
};

// J (5): if the cluster is 90% busy and a tenant below its quota has a placeable job, no tenant is
// above its quota. There is no delay: the same plan corrects it.
TEST(Sanity, J5_NobodyAboveQuotaWhileAnotherBelowCouldRun) {
  std::size_t looked = 0;
  for (std::uint64_t seed = 0; seed < scene_count(); ++seed) {
    SceneMaker maker(seed);
    SceneMaker::Setting setting = maker.setting();
    setting.rules = TenantRules();
    SimOptions& options = setting.options;
    options.min_run = options.round = Duration();
    options.parts.mechanism = "proportional";
    options.parts.policy = seed % 2 == 0 ? "fit-first" : "srtf";
    // If any GPUs are suitable, counting them is sufficient. Otherwise it matters which jobs
    // borrow: srtf chooses them by rank, and in a tree tenants cannot borrow from all others.
    if (wants_one_node(options.parts)) {
      options.parts.policy = "fit-first";
      setting.nested = false;
    }
    const Scene scene = maker.scene(setting);
    SCOPED_TRACE(testing::Message() << "reproduce with seed " << seed << ": " << text_of(scene));
    QuotaWatcher watcher;
    Stage(scene, watcher).run();
    if (HasFailure()) return;
    looked += watcher.looked();
  }
  EXPECT_GT(looked, campaign_floor(10'000U));
}

}  // namespace
}  // namespace muster
