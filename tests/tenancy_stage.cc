#include "tenancy_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/types/check.h"
#include "engine/scheduler/scheduler.h"

namespace muster {

void Stage::run() {
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

Engine Stage::make_engine() {
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

Instant Stage::next() const {
  Instant next = std::min(wake_, event_queue_.first().at);
  const std::vector<TraceJob>& jobs = scene_->trace.jobs;
  return arrived_ < jobs.size() ? std::min(next, jobs[arrived_].submit) : next;
}

void Stage::gather() {
  while (event_queue_.first().at == now_) {
    const EventQueue::Entry due = event_queue_.first();
    if (due.kind == EventQueue::Kind::kStarted) {
      started(due.job, due.tag);
    } else if (due.kind == EventQueue::Kind::kStopped) {
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

void Stage::carry_out(const Action& action) {
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
    event_queue_.set(action.job,
                     {now_ + overhead, action.job, EventQueue::Kind::kStarted, action.epoch});
  } else if (action.kind == Action::Kind::kStop) {
    run.moving = engine_.state().jobs[action.job].state == JobState::kPlaced;
    run.progress.set_speed(0, now_);
    if (options_.overheads.checkpoint == Duration()) {
      return end(action.job, action.epoch, LeaseOutcome::kStopped);
    }
    event_queue_.set(action.job, {now_ + options_.overheads.checkpoint, action.job,
                                  EventQueue::Kind::kStopped, action.epoch});
  } else if (engine_.lease(action.job).state == Lease::State::kRunning) {
    set_speed(action.job);
  }
}

void Stage::started(JobId job, Epoch epoch) {
  set_speed(job);
  events_.push_back(LeaseStarted{job, epoch});
}

void Stage::set_speed(JobId job) {
  TrueProgress& progress = runs_[job.index()].progress;
  progress.set_speed(engine_.lease(job).speed, now_);
  event_queue_.set(job, {progress.finish(), job, EventQueue::Kind::kFinish, 0});
}

void Stage::end(JobId job, Epoch epoch, LeaseOutcome outcome) {
  event_queue_.clear(job);
  held_.erase(job);
  events_.push_back(LeaseEnded{job, epoch, outcome});
}

}  // namespace muster
