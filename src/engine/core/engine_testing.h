#pragma once

// For tests of the engine: a scripted planner, and an engine on two nodes that the test drives.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/types/check.h"
#include "engine/core/engine.h"

namespace muster {

using Script = std::function<void(const View&, Draft&)>;

// Runs the script of the test at the next plan, and logs the calls of the engine.
class ScriptedPlanner final : public Planner {
 public:
  Script script;
  bool drift = false;
  bool can_avoid = false;
  std::string log;

  std::optional<std::string> refuse(const JobSpec& spec) override {
    if (spec.gpus > 8) return "no " + std::to_string(spec.gpus) + " GPUs here";
    return std::nullopt;
  }
  bool could_avoid(const JobSpec&, std::span<const NodeId>) const override { return can_avoid; }
  void enqueue(const View&, JobId job) override { log += " +" + std::to_string(job.index()); }
  void forget(const View&, JobId job, JobExit) override {
    log += " -" + std::to_string(job.index());
  }
  bool drifts() const override { return drift; }
  void plan(const View& view, Draft& draft, PlanTrigger trigger) override {
    log += trigger == PlanTrigger::kTick ? " tick" : " news";
    if (script) std::exchange(script, nullptr)(view, draft);
  }
};

// Nodes at the reference share, so that the speed is 1.
inline Topology two_nodes() {
  Topology topology;
  MUSTER_CHECK(!topology.add_node("s0", "r", "gpu", {2, 6000, 128'000, 125'000}));
  MUSTER_CHECK(!topology.add_node("s1", "r", "gpu", {2, 6000, 128'000, 125'000}));
  return topology;
}

inline const Placement kLeft = {{NodeId(0), 0b11, 6000, 128'000, 125'000}};
inline const Placement kRight = {{NodeId(1), 0b11, 6000, 128'000, 125'000}};
inline const Placement kAcross = {{NodeId(0), 0b01, 3000, 64'000, 62'500},
                                  {NodeId(1), 0b01, 3000, 64'000, 62'500}};

inline constexpr auto kStopped = LeaseOutcome::kStopped;
inline constexpr auto kCompleted = LeaseOutcome::kCompleted;

// Drives an engine. Actions have the form "start 0.1" (job and lease epoch) or "wake 300".
class EngineTest : public testing::Test {
 protected:
  void build(const EngineOptions& options) {
    planner_ = new ScriptedPlanner;
    engine_ =
        std::make_unique<Engine>(cluster_, std::unique_ptr<ScriptedPlanner>(planner_), options);
  }
  EngineTest() { build(EngineOptions()); }

  static JobSubmitted submit(std::int32_t gpus = 2) {
    JobSpec spec;
    spec.gpus = gpus;
    return {spec};
  }
  // Steps the engine at `now` and returns its actions. All times are in microseconds.
  std::string at(std::int64_t now, const std::vector<Event>& events, Script script = nullptr) {
    planner_->script = std::move(script);
    std::string text;
    for (const Action& action : engine_->step(Instant::micros(now), events)) {
      if (!text.empty()) text += ", ";
      text += worded(action);
    }
    engine_->state().check_invariants();
    return text;
  }
  static std::string worded(const Action& action) {
    constexpr const char* kWords[] = {"start", "stop",    "resize", "reject",
                                      "wake",  "give up", "share"};
    std::ostringstream text;
    text << kWords[static_cast<std::size_t>(action.kind)] << ' ';
    if (action.kind != Action::Kind::kWakeAt) {
      text << action.job.index() << '.' << action.epoch;
    } else if (action.at == Instant::never()) {
      text << "never";
    } else {
      text << action.at.us();
    }
    return text.str();
  }
  static Script start(JobId job, const Placement& where) {
    return [=](const View&, Draft& draft) { EXPECT_TRUE(draft.start(job, where)); };
  }
  static Script swap_in(JobId out, JobId in, const Placement& where) {
    return [=](const View&, Draft& draft) {
      EXPECT_TRUE(draft.stop(out));
      EXPECT_TRUE(draft.start(in, where));
    };
  }
  JobState state_of(JobId job) const { return engine_->state().jobs[job].state; }
  // Makes job 0 run on kLeft.
  void run_job_0() {
    EXPECT_EQ(at(0, {submit()}, start(JobId(0), kLeft)), "start 0.1");
    EXPECT_EQ(at(1, {LeaseStarted{JobId(0), 1}}), "");
  }
  // Makes job 0 stop on kLeft, with job 1 promised its place.
  void preempt_job_0() {
    run_job_0();
    EXPECT_EQ(at(2, {submit()}, swap_in(JobId(0), JobId(1), kLeft)), "stop 0.1");
  }

  const Topology topology_ = two_nodes();
  const ProfileTable profiles_;
  const Cluster cluster_{topology_, profiles_};
  ScriptedPlanner* planner_ = nullptr;  // Owned by the engine.
  std::unique_ptr<Engine> engine_;
};

}  // namespace muster
