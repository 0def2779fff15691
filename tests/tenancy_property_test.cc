// What must hold of tenants and of preemption whatever the workload: over a thousand small random
// ones, under every policy, every step of the engine watched.

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
bool share_a_server(const Placement& a, const Placement& b) {
  return std::any_of(a.begin(), a.end(), [&](const Share& mine) {
    return std::any_of(b.begin(), b.end(),
                       [&](const Share& other) { return mine.node == other.node; });
  });
}

// Placements for which it is not enough that as many GPUs are free.
bool wants_one_server(const SchedulerParts& parts) {
  return parts.placement == "yarn" || parts.placement == "skew";
}

// Compares who is placed before and after each step.
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
    std::vector<JobId> granted;  // Also those that move.
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
      EXPECT_FALSE(share_a_server(found->second.second, stage.engine().lease(job).placement))
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
    Instant since;  // never() for a promise that was not yet kept.
  };

  void check_min_run(const Stage& stage, JobId job, const Was& was, const char* what) const {
    if (was.since == Instant::never()) return;
    EXPECT_GE(stage.now() - was.since, stage.scene().options.min_run)
        << "job " << job.index() << " " << what << " at " << stage.now().in_seconds();
  }

  // Somebody starts for it, and somebody has its GPUs: the same, or one that had to move.
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

  // Nobody loses to another tenant what would be within its quota beside all that it still holds.
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

  // Policies that preempt choose by count. Where a gang wants one server, a tenant may lose its own
  // to one of its jobs that then finds no place, and others be given the GPUs meanwhile.
  static bool finds_no_place_for_its_choice(const Stage& stage) {
    const SchedulerParts& parts = stage.scene().options.parts;
    const PolicyOptions defaults;
    const auto policy = find_entry(policies(), "policy", parts.policy).value()->make(defaults);
    return wants_one_server(parts) && policy->traits().preempts;
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
      ASSERT_TRUE(job.fate == Fate::kFinished || job.fate == Fate::kRejected) << "job " << i;
    }
  }
  EXPECT_GT(evictions, campaign_floor(2000U)) << "or there was nothing to watch";
  EXPECT_GT(between_tenants, campaign_floor(500U));
}

// The end of somebody's safe time is a reason to plan even in a round before which nothing
// happened.
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
    // What is planned for the others, they do not hold: all of it or nothing, too.
    for (const Lease& lease : stage.engine().state().leases) {
      if (lease.state == Lease::State::kUnused) continue;
      EXPECT_EQ(total_of(lease.placement).gpus, stage.engine().state().jobs[lease.job].spec.gpus);
    }
  }

 private:
  std::size_t gangs_ = 0;
};

// J (3): a gang never holds part of its GPUs.
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

// J (4): fair-share, fragmentation and the rest add up to the whole waiting.
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
      if (job.fate == Fate::kRejected) continue;
      ASSERT_EQ(job.fate, Fate::kFinished);
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

// Looks for a tenant below its quota whose waiting job would fit if only jobs wholly above other
// tenants' quotas were gone.
class QuotaWatcher final : public Stage::Watcher {
 public:
  std::size_t looked() const { return looked_; }

  void settled(const Stage& stage) override {
    const State& state = stage.engine().state();
    const TenantTree& tenants = stage.scene().tenants;
    const std::int64_t total = stage.scene().topology.total().gpus;
    if ((total - state.books.free_gpus()) * 1000 < total * tenants.reclaim_permille()) return;
    std::map<TenantId, std::int64_t> used;
    for (const JobId job : state.placed) {
      used[state.jobs[job].spec.tenant] += state.jobs[job].spec.gpus;
    }
    Books without = state.books;
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
  // Jobs no tenant has a right to, whatever the policy calls borrowed. Those who came first are
  // within the quota. Under one that goes by rank it may be others, but no fewer GPUs than what all
  // hold above their quotas: the last to come, as long as that leaves the quota.
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
        used[spec.tenant] = tenants[spec.tenant].quota;  // No more of this one.
        continue;
      }
      used[spec.tenant] -= spec.gpus;
      lent.push_back(job);
    }
    return lent;
  }

  std::size_t looked_ = 0;
};

// J (5): nobody above its quota while another below its own has a placeable job and the cluster is
// 90% busy. Not even for a while: everything is set right in the plan in which it comes about.
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
    // Where any GPUs will do it is enough to count them. Otherwise it matters who borrows, which is
    // by rank under srtf, and not from everybody in a tree.
    if (wants_one_server(options.parts)) {
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
