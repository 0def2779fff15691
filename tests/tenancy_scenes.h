#pragma once

// Small random workloads of a few tenants, and a driver of the engine that shows every step of it
// to whoever wants to watch. It does what simulate() does, and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "config/profiles_file.h"
#include "core/engine.h"
#include "mechanism/registry.h"
#include "placement/registry.h"
#include "policy/registry.h"
#include "sim/simulator.h"
#include "sim/timetable.h"
#include "sim/truth.h"

namespace muster {

// The zoo, so that mechanisms which look at profiles have something to do.
inline const ProfileTable& scene_profiles() {
  static const ProfileTable profiles = builtin_profiles();
  return profiles;
}

struct Scene {
  Topology topology;
  TenantTree tenants;
  Trace trace;
  SimOptions options;  // Without the tenants, which are at another address in every copy.

  SimOptions with_tenants() const {
    SimOptions all = options;
    all.tenants = &tenants;
    return all;
  }
};

class SceneMaker {
 public:
  explicit SceneMaker(std::uint64_t seed) : random_(Random(seed).fork("scene")), seed_(seed) {}

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T any(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<std::int64_t>(all.size()))];
  }

  // What is drawn before the tenants and the trace are.
  struct Setting {
    SimOptions options;
    TenantRules rules;
    bool nested = false;  // The first two tenants are below another.
  };
  Setting setting() {
    Setting drawn;
    SimOptions& options = drawn.options;
    options.parts.policy = policies()[seed_ % policies().size()].name;
    options.parts.mechanism = one_in(5) ? "tune" : "proportional";
    const std::int64_t placement = below(static_cast<std::int64_t>(placements().size()));
    options.parts.placement = placements()[static_cast<std::size_t>(placement)].name;
    if (!one_in(3)) options.min_run = Duration::seconds(1 + below(600));
    if (one_in(2)) options.overheads = {Duration(), Duration(), Duration()};
    if (one_in(4)) options.round = Duration::seconds(any({60, 300}));
    options.checkpoint_interval = Duration::seconds(any({60, 100, 300}));
    options.seed = seed_;
    drawn.rules.sharing = any({Sharing::kQuota, Sharing::kQuota, Sharing::kWeight, Sharing::kFair});
    drawn.rules.reclaim_permille = any({900, 900, 900, 0, 500, 1000});
    drawn.nested = one_in(3);
    return drawn;
  }

  Scene scene() { return scene(setting()); }
  Scene scene(const Setting& setting) {
    const char* const cluster = any({"1x8", "2x4", "4x4", "3x8", "2x8,racks=2", "5x2"});
    Topology topology = parse_cluster_shorthand(cluster).value();
    const std::int32_t gpus = topology.total().gpus;
    TenantTree tree = tenants(gpus, setting);
    Trace trace = workload(25, gpus);
    return {std::move(topology), std::move(tree), std::move(trace), setting.options};
  }

 private:
  // Two to four that have jobs; quotas that come to at most the cluster, some zero.
  TenantTree tenants(std::int64_t gpus, const Setting& setting) {
    TenantList list;
    list.rules = setting.rules;
    const std::int64_t count = 2 + below(3);
    std::int64_t left = gpus;
    for (std::int64_t i = 0; i < count; ++i) {
      TenantSpec spec;
      spec.name = "t" + std::to_string(i);
      spec.weight_milli = static_cast<std::int32_t>(500 + below(3000));
      const std::int64_t even = left / (count - i);
      std::int64_t part = one_in(6) ? 0 : std::min(left, even / 2 + below(even + 2));
      if (i + 1 == count && left == gpus) part = left;  // Somebody must have something.
      left -= part;
      if (setting.rules.sharing == Sharing::kQuota) spec.quota = part;
      if (count > 2 && i < 2 && setting.nested) spec.parent = "lab";
      list.tenants.push_back(spec);
    }
    if (count > 2 && setting.nested) {
      list.tenants.emplace_back();
      list.tenants.back().name = "lab";
    }
    names_ = static_cast<std::size_t>(count);
    return TenantTree::build(list).value();
  }

  Trace workload(std::size_t jobs, std::int64_t gpus) {
    Trace trace;
    std::int64_t submit = 0;
    for (std::size_t i = 0; i < jobs; ++i) {
      TraceJob job;
      job.id = std::to_string(i);
      if (!one_in(3)) submit += below(200);
      job.submit = Instant::at(Duration::seconds(submit));
      job.duration = Duration::seconds(5 + below(one_in(5) ? 4000 : 900));
      job.gpus = static_cast<std::int32_t>(
          std::min(gpus, one_in(8) ? 1 + below(gpus) : any({1, 1, 2, 2, 3, 4, 4, 6, 8})));
      const ProfileId model(static_cast<std::size_t>(
          below(static_cast<std::int64_t>(scene_profiles().size()))));  // The unknown one too.
      job.model = trace.models.intern(scene_profiles()[model].name());
      job.user = trace.users.intern("u" + std::to_string(below(3)));
      job.tenant =
          trace.tenants.intern("t" + std::to_string(below(static_cast<std::int64_t>(names_))));
      job.name = trace.names.intern("n" + std::to_string(below(4)));
      trace.jobs.push_back(std::move(job));
    }
    return trace;
  }

  Random random_;
  std::uint64_t seed_;
  std::size_t names_ = 0;
};

// Every order is carried out as simulate() does; before and after each step the watcher looks on.
class Stage {
 public:
  struct Held {
    Placement placement;
    Instant since;  // When it was told to start.
  };
  struct Watcher {
    virtual ~Watcher() = default;
    virtual void before(const Stage&) {}
    virtual void after(const Stage&) {}    // Each step; there may be several an instant.
    virtual void settled(const Stage&) {}  // When nothing more happens at that instant.
  };

  Stage(const Scene& scene, Watcher& watcher)
      : scene_(&scene),
        options_(scene.with_tenants()),
        cluster_(scene.topology, scene_profiles()),
        engine_(make_engine()),
        watcher_(&watcher) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void run() {
    while (next() != Instant::never() && !testing::Test::HasFailure()) {
      now_ = next();
      gather();
      while (!events_.empty()) {
        watcher_->before(*this);
        const std::span<const Action> actions = engine_.step(now_, events_);
        events_.clear();
        for (const Action& action : actions) carry_out(action);
        watcher_->after(*this);
      }
      watcher_->settled(*this);
    }
  }

  const Scene& scene() const { return *scene_; }
  const Cluster& cluster() const { return cluster_; }
  const Engine& engine() const { return engine_; }
  Instant now() const { return now_; }
  // What really holds GPUs, from its start until its end was reported. A job that moves may still
  // be saving while the new lease waits, but never holds two.
  const std::map<JobId, Held>& held() const { return held_; }

 private:
  struct Run {
    TrueProgress progress;
    bool ran = false;
    bool moving = false;
  };

  Engine make_engine() {
    PlannerOptions wanted;
    wanted.parts = options_.parts;
    wanted.policy = options_.policy;
    wanted.chain.seed = options_.seed;
    wanted.chain.tenants = options_.tenants;
    wanted.chain.min_run = options_.min_run;
    wanted.chain.checkpoint_interval = options_.checkpoint_interval;
    MadePlanner made = make_planner(cluster_, wanted);
    EngineOptions engine_options;
    engine_options.pooling = made.pooling;
    engine_options.round = options_.round;
    engine_options.checkpoint_interval = options_.checkpoint_interval;
    return Engine(cluster_, std::move(made.planner), engine_options);
  }

  Instant next() const {
    Instant next = std::min(wake_, timetable_.first().at);
    const std::vector<TraceJob>& jobs = scene_->trace.jobs;
    return arrived_ < jobs.size() ? std::min(next, jobs[arrived_].submit) : next;
  }

  void gather() {
    while (timetable_.first().at == now_) {
      const Timetable::Entry due = timetable_.first();
      if (due.kind == Timetable::Kind::kStarted) {
        started(due.job, due.tag);
      } else if (due.kind == Timetable::Kind::kStopped) {
        end(due.job, due.tag, LeaseOutcome::kStopped);
      } else {
        end(due.job, engine_.state().jobs[due.job].epoch, LeaseOutcome::kCompleted);
      }
    }
    const std::vector<TraceJob>& jobs = scene_->trace.jobs;
    for (; arrived_ < jobs.size() && jobs[arrived_].submit == now_; ++arrived_) {
      const TraceJob& job = jobs[arrived_];
      JobSpec spec;
      spec.gpus = job.gpus;
      spec.profile = scene_profiles().find(scene_->trace.models[job.model]);
      spec.tenant = *scene_->tenants.find(scene_->trace.tenants[job.tenant]);
      spec.user = UserId(job.user);
      spec.name = NameId(job.name);
      spec.estimate = job.duration;
      runs_.push_back({TrueProgress::of_work(job.duration)});
      events_.push_back(JobSubmitted{spec});
    }
    if (wake_ == now_) {
      wake_ = Instant::never();
      events_.push_back(TimerFired{});
    }
  }

  void carry_out(const Action& action) {
    if (action.kind == Action::Kind::kWakeAt) wake_ = action.at;
    if (action.kind == Action::Kind::kReject || action.kind == Action::Kind::kWakeAt) return;
    Run& run = runs_[action.job.index()];
    if (action.kind == Action::Kind::kStart) {
      MUSTER_CHECK(!held_.contains(action.job));
      held_[action.job] = {engine_.lease(action.job).in_force(), now_};
      Duration overhead;
      if (std::exchange(run.ran, true)) overhead = options_.overheads.restart;
      if (std::exchange(run.moving, false)) overhead += options_.overheads.migration;
      if (overhead == Duration()) return started(action.job, action.epoch);
      timetable_.set(action.job,
                     {now_ + overhead, action.job, Timetable::Kind::kStarted, action.epoch});
    } else if (action.kind == Action::Kind::kStop) {
      run.moving = engine_.state().jobs[action.job].state == JobState::kPlaced;
      run.progress.set_speed(0, now_);
      if (options_.overheads.checkpoint == Duration()) {
        return end(action.job, action.epoch, LeaseOutcome::kStopped);
      }
      timetable_.set(action.job, {now_ + options_.overheads.checkpoint, action.job,
                                  Timetable::Kind::kStopped, action.epoch});
    } else if (engine_.lease(action.job).state == Lease::State::kRunning) {
      set_speed(action.job);
    }
  }

  void started(JobId job, Epoch epoch) {
    set_speed(job);
    events_.push_back(LeaseStarted{job, epoch});
  }
  void set_speed(JobId job) {
    TrueProgress& progress = runs_[job.index()].progress;
    progress.set_speed(engine_.lease(job).speed, now_);
    timetable_.set(job, {progress.finish(), job, Timetable::Kind::kFinish, 0});
  }
  void end(JobId job, Epoch epoch, LeaseOutcome outcome) {
    timetable_.clear(job);
    held_.erase(job);
    events_.push_back(LeaseEnded{job, epoch, outcome});
  }

  const Scene* scene_;
  SimOptions options_;
  Cluster cluster_;
  Engine engine_;
  Watcher* watcher_;
  Instant now_;
  Instant wake_ = Instant::never();
  std::size_t arrived_ = 0;
  std::vector<Run> runs_;
  Timetable timetable_;
  std::map<JobId, Held> held_;
  std::vector<Event> events_;
};

}  // namespace muster
