// why is right: over random states of random clusters the constraint it names, when lifted, changes
// the outcome, and each way out it names, when taken, starts the job in the next plan.

#include "sim/forecast/wait_explanation.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/types/random.h"
#include "engine/model/tenants.h"
#include "tests/campaign.h"

namespace muster {
namespace {

TenantTree two_tenants() {
  TenantList list;
  list.tenants.resize(2);
  list.tenants[0].name = "left";
  list.tenants[0].quota = 8;
  list.tenants[1].name = "right";
  list.tenants[1].quota = 4;
  return TenantTree::build(list).value();
}

// A cluster of three servers under some scheduler, with some life behind it.
class Scene {
 public:
  explicit Scene(std::uint64_t seed) : random_(seed), tenants_(two_tenants()) {
    const std::vector<std::string> policies = {"fifo", "fit-first", "backfill", "backfill", "sjf",
                                               "srtf", "las",       "mlfq-las", "drf"};
    const std::vector<std::string> places = {"consolidate", "yarn", "first-fit"};
    rules_.planner.parts.policy = policies[random_.below(policies.size())];
    rules_.planner.parts.placement = places[random_.below(places.size())];
    scattered_ = random_.below(4) == 0;  // Small jobs everywhere, and some that want a server.
    if (scattered_) rules_.planner.parts = {"fit-first", "proportional", "yarn"};
    particular_ = !scattered_ && random_.below(2) == 0;
    if (!scattered_ && random_.below(3) == 0) rules_.planner.chain.tenants = &tenants_;
    if (random_.below(5) == 0) rules_.engine.round = Duration::seconds(60);
    rules_.engine.estimates = EstimateSource::Kind::kUser;
    rules_.engine.retry = RetryPolicy::adaptive();
    rules_.cluster = &cluster_;
    MadePlanner made = make_planner(cluster_, rules_.planner);
    rules_.engine.pooling = made.pooling;
    engine_ = std::make_unique<Engine>(cluster_, std::move(made.planner), rules_.engine);
    for (std::size_t steps = 10 + random_.below(30); steps > 0; --steps) live();
  }

  // Executes orders immediately.
  static void step(Engine& engine, Instant now, std::vector<Event> events) {
    while (!events.empty()) {
      std::vector<Event> next;
      for (const Action& action : engine.step(now, events)) {
        if (action.kind == Action::Kind::kStart) {
          next.push_back(LeaseStarted{action.job, action.epoch});
        } else if (action.kind == Action::Kind::kStop) {
          next.push_back(LeaseEnded{action.job, action.epoch, LeaseOutcome::kStopped});
        }
      }
      events = std::move(next);
    }
  }

  // Whether the job has its GPUs once these have happened and the next plan is made.
  bool starts(const std::vector<Event>& events, JobId job) const {
    Engine engine = *engine_;
    step(engine, now_, events);
    const auto runs = [&] { return engine.state().jobs[job].state == JobState::kPlaced; };
    const std::uint64_t plans = engine.counters().plans;
    while (!runs() && engine.wake() <= now_ + engine.longest_pause() &&
           engine.counters().plans == plans) {
      step(engine, engine.wake(), {TimerFired{}});
    }
    return runs();
  }

  // Whether it would have GPUs, first in line, under other rules.
  bool runs_first_under(const SchedulingRules& others, JobId job) const {
    return ReplannedEngine(*engine_, now_, others,
                           [&](JobId id, JobRestored& past) {
                             if (id == job)
                               past.spec.priority = std::numeric_limits<std::int32_t>::max();
                           })
        .is_placed(job);
  }

  // True if this job starts while the other is held, and keeps running when the other is released.
  bool starts_if_moved(JobId other, JobId job) const {
    Engine engine = *engine_;
    JobRestored past = past_of(engine, now_, other);
    past.placement.clear();
    const auto runs = [&](JobId id) { return engine.state().jobs[id].state == JobState::kPlaced; };
    step(engine, now_, {JobCancelled{other}});
    if (!runs(job)) return false;
    step(engine, now_, {std::move(past)});
    return runs(job) && runs(next_id());
  }

  std::vector<JobId> waiting() const {
    std::vector<JobId> jobs;
    for (std::size_t i = 0; i < engine_->state().jobs.size(); ++i) {
      if (engine_->state().jobs[JobId(i)].state == JobState::kWaiting) jobs.emplace_back(i);
    }
    return jobs;
  }

  JobId pick(const std::vector<JobId>& jobs) { return jobs[random_.below(jobs.size())]; }
  const Engine& engine() const { return *engine_; }
  const Job& job(JobId id) const { return engine_->state().jobs[id]; }
  Instant now() const { return now_; }
  const SchedulingRules& rules() const { return rules_; }
  JobId next_id() const { return JobId(engine_->state().jobs.size()); }
  std::string name() const {
    return rules_.planner.parts.policy + " " + rules_.planner.parts.placement +
           (rules_.planner.chain.tenants != nullptr ? " tenants" : "") +
           (rules_.engine.round > Duration() ? " rounds" : "");
  }

 private:
  void live() {
    now_ = now_ + Duration::seconds(static_cast<std::int64_t>(1 + random_.below(200)));
    std::vector<Event> events = {TimerFired{}};
    for (std::size_t more = random_.below(3); more > 0; --more) {
      JobSpec spec;
      constexpr std::int32_t kSizes[] = {1, 1, 2, 2, 3, 4, 6, 8};
      spec.gpus = scattered_ ? (random_.below(4) == 0 ? 3 : 1) : kSizes[random_.below(8)];
      spec.user = UserId(random_.below(3));
      spec.tenant = TenantId(random_.below(2));
      spec.estimate = Duration::seconds(static_cast<std::int64_t>(60 + random_.below(8'000)));
      if (particular_) {
        constexpr std::int64_t kMem[] = {0, 0, 30, 100, 200};  // GiB.
        constexpr std::int64_t kCpus[] = {0, 0, 0, 5, 11};
        spec.least = {0, kCpus[random_.below(5)] * 1'000, kMem[random_.below(5)] * 1'024, 0};
        spec.spread = static_cast<std::int32_t>(random_.below(3));
      }
      events.push_back(JobSubmitted{spec});
    }
    const std::vector<JobId>& placed = engine_->state().placed;
    if (!placed.empty() && random_.below(3) == 0) {
      const JobId job = placed[random_.below(placed.size())];
      const Epoch epoch = engine_->state().jobs[job].epoch;
      events.push_back(LeaseEnded{job, epoch, LeaseOutcome::kCompleted});
    }
    const NodeId node(random_.below(3));
    if (!scattered_ && random_.below(12) == 0) events.push_back(NodeClosed{node});
    if (random_.below(8) == 0) events.push_back(NodeOpened{node});
    if (!scattered_ && random_.below(8) == 0) {
      const auto gpus = static_cast<std::int32_t>(random_.below(3));
      events.push_back(NodeTaken{node, {gpus, gpus * 2'000, 0, 0}});
    }
    step(*engine_, now_, events);
  }

  Random random_;
  bool scattered_ = false;
  bool particular_ = false;  // Jobs ask for CPU, memory and few servers.
  TenantTree tenants_;
  Topology topology_ = parse_cluster_shorthand("3x4").value();
  ProfileTable profiles_;
  Cluster cluster_{topology_, profiles_};
  SchedulingRules rules_;
  std::unique_ptr<Engine> engine_;
  Instant now_;
};

std::vector<Event> events_of(const Scene& scene, JobId job, const StartOption& way) {
  JobSpec spec = scene.job(job).spec;
  switch (way.kind) {
    case StartOption::Kind::kFewerGpus:
      EXPECT_LT(way.gpus, spec.gpus);
      spec.gpus = way.gpus;
      break;
    case StartOption::Kind::kLessMemory: {
      const std::int64_t asked = spec.least.mem_mib;
      spec.least.mem_mib = (way.amount + spec.gpus - 1) / spec.gpus;
      EXPECT_LT(spec.least.mem_mib, asked);
      break;
    }
    case StartOption::Kind::kFewerCpus: {
      const std::int64_t asked = spec.least.cpu_milli;
      spec.least.cpu_milli = (way.amount + spec.gpus - 1) / spec.gpus;
      EXPECT_LT(spec.least.cpu_milli, asked);
      break;
    }
    case StartOption::Kind::kWiderSpread:
      EXPECT_GT(way.amount, spec.spread);
      spec.spread = static_cast<std::int32_t>(way.amount);
      break;
    case StartOption::Kind::kHigherPriority:
      EXPECT_GT(way.amount, spec.priority);
      spec.priority = static_cast<std::int32_t>(way.amount);
      break;
    case StartOption::Kind::kOtherTenant:
      EXPECT_NE(way.tenant, spec.tenant);
      spec.tenant = way.tenant;
      break;
    case StartOption::Kind::kShorter:
      EXPECT_LT(way.estimate, spec.estimate);
      spec.estimate = way.estimate;
      break;
    case StartOption::Kind::kAfterEnds: {
      std::vector<Event> events;
      for (const JobId other : way.jobs) {
        events.push_back(LeaseEnded{other, scene.job(other).epoch, LeaseOutcome::kCompleted});
      }
      return events;
    }
    case StartOption::Kind::kMove:
      EXPECT_TRUE(scene.starts_if_moved(way.jobs.front(), job));
      return {JobCancelled{way.jobs.front()}};
  }
  return {JobCancelled{job}, JobSubmitted{spec}};
}

bool runs_when_all_ended(const Scene& scene, const std::vector<Event>& first) {
  std::vector<Event> events;
  for (const JobId other : scene.engine().state().placed) {
    events.push_back(LeaseEnded{other, scene.job(other).epoch, LeaseOutcome::kCompleted});
  }
  events.insert(events.end(), first.begin(), first.end());
  return scene.starts(events, scene.next_id());
}

void check_constraint(const Scene& scene, JobId job, const Why& why) {
  const std::vector<Event> first = put_first(scene.engine(), scene.now(), job);
  const bool runs_if_first = scene.starts(first, scene.next_id());
  SchedulingRules others = scene.rules();
  switch (why.constraint) {
    case Constraint::kNone:
    case Constraint::kNextPlan:
      EXPECT_TRUE(scene.starts({TimerFired{}}, job));
      return;
    case Constraint::kBackOff:
      return;
    case Constraint::kReservation:
    case Constraint::kOrder:
      EXPECT_TRUE(runs_if_first);
      EXPECT_FALSE(scene.starts({TimerFired{}}, job));
      return;
    case Constraint::kNodes: {
      std::vector<Event> events;
      for (std::size_t node = 0; node < 3; ++node) events.push_back(NodeOpened{NodeId(node)});
      events.insert(events.end(), first.begin(), first.end());
      EXPECT_TRUE(scene.starts(events, scene.next_id()) || !runs_when_all_ended(scene, first));
      EXPECT_FALSE(runs_if_first);
      return;
    }
    case Constraint::kOthers: {
      std::vector<Event> events;
      for (std::size_t node = 0; node < 3; ++node) events.push_back(NodeTaken{NodeId(node), {}});
      events.insert(events.end(), first.begin(), first.end());
      EXPECT_TRUE(scene.starts(events, scene.next_id()) || !runs_when_all_ended(scene, first));
      EXPECT_FALSE(runs_if_first);
      EXPECT_GT(why.gpus.others, 0);
      return;
    }
    case Constraint::kQuota:
      EXPECT_FALSE(runs_if_first);
      // Lifted alone it is enough, unless not even an empty cluster would be.
      others.planner.chain.tenants = nullptr;
      EXPECT_TRUE(scene.runs_first_under(others, job) || !runs_when_all_ended(scene, first));
      return;
    case Constraint::kMemory:
    case Constraint::kCpus: {
      EXPECT_FALSE(runs_if_first);
      std::vector<Event> modest = first;
      std::get<JobRestored>(modest.back()).spec.least = {};
      EXPECT_TRUE(scene.starts(modest, scene.next_id()) || why.gpus.most_on_one >= why.needs);
      return;
    }
    case Constraint::kPlaces:
      EXPECT_FALSE(runs_if_first);
      others.planner.parts.placement = "count";
      EXPECT_TRUE(scene.runs_first_under(others, job));
      EXPECT_GE(why.gpus.unheld(), why.needs);
      EXPECT_LT(why.gpus.most_on_one, why.gpus.unheld());
      return;
    case Constraint::kGpus:
      EXPECT_FALSE(runs_if_first);
      EXPECT_TRUE(runs_when_all_ended(scene, first));
      return;
  }
}

TEST(Why, IsRightInAThousandStates) {
  std::map<std::string_view, int> constraints;
  std::map<StartOption::Kind, int> ways;
  int asked = 0;
  int passing = 0;
  int stopping = 0;
  for (std::uint64_t seed = 1;
       asked < static_cast<int>(campaign_size(1'000, 1'000)) && seed < 5'000; ++seed) {
    Scene scene(seed);
    const std::vector<JobId> waiting = scene.waiting();
    if (waiting.empty()) continue;
    ++asked;
    const JobId job = scene.pick(waiting);
    WhyOptions options;
    options.tenants = {TenantId(0), TenantId(1)};
    const Why why = explain(scene.engine(), scene.now(), job, scene.rules(), options);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + scene.name() + " job " +
                 std::to_string(job.index()) + " " + std::string(constraint_name(why.constraint)));
    ++constraints[constraint_name(why.constraint)];
    EXPECT_EQ(why.needs, scene.job(job).spec.gpus);
    check_constraint(scene, job, why);
    // No job counts as ahead that the scheduler considers later.
    const auto line = scene.engine().queue_order(scene.now(), 1'000);
    const auto own = line ? std::find(line->begin(), line->end(), job) : decltype(line->end())();
    if (line && own != line->end()) {
      EXPECT_LE(why.ahead, static_cast<std::size_t>(own - line->begin()));
      passing += why.passing > 0 ? 1 : 0;
    }
    for (const StartOption& way : why.ways) {
      ++ways[way.kind];
      stopping += way.begun.stops.empty() ? 0 : 1;
      for (const JobId other : way.begun.stops) {
        EXPECT_EQ(scene.job(other).state, JobState::kPlaced);
      }
      const bool anew =
          way.kind != StartOption::Kind::kAfterEnds && way.kind != StartOption::Kind::kMove;
      EXPECT_TRUE(scene.starts(events_of(scene, job, way), anew ? scene.next_id() : job))
          << "way " << static_cast<int>(way.kind);
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(asked, static_cast<int>(campaign_size(1'000, 1'000)));
  EXPECT_GT(passing, campaign_floor(5));
  EXPECT_GT(stopping, campaign_floor(5));
  for (const char* name : {"order", "reservation", "nodes", "others", "quota", "memory", "cpus",
                           "fragmentation", "gpus"}) {
    EXPECT_GE(constraints[name], campaign_floor(5)) << name;
  }
  for (int kind = 0; kind < 9; ++kind) {
    EXPECT_GE(ways[static_cast<StartOption::Kind>(kind)], campaign_floor(5)) << kind;
  }
}

}  // namespace
}  // namespace muster
