// Executes the engine's orders and sets the speed of jobs.

#include <algorithm>
#include <utility>

#include "sim/run/simulation.h"

namespace muster {

void Simulation::carry_out(const Action& action) {
  switch (action.kind) {
    case Action::Kind::kStart:
      return start(action.job, action.epoch);
    case Action::Kind::kStop:
      return stop(action.job, action.epoch);
    case Action::Kind::kResize:
      return resize(action.job);
    case Action::Kind::kShare:
      return share(action.job);
    case Action::Kind::kGiveUp:
      return give_up(action.job);
    case Action::Kind::kReject:
      return reject(run_of(action.job).trace_index, engine_.why_rejected(action.job));
    case Action::Kind::kWakeAt:
      wake_ = action.at;
      return;
  }
}

void Simulation::start(JobId job, Epoch epoch) {
  Run& run = run_of(job);
  JobOutcome& outcome = outcome_of(job);
  const Lease& lease = engine_.lease(job);
  const bool first = outcome.start == Instant::never();
  if (first) outcome.start = now_;
  run.held_since = now_;
  run.counted_until = now_;
  run.gpus = lease.total.gpus;
  run.left_before = run.progress.left();
  run.running_since = Instant::never();
  if (sharing_) run.held = lease.in_force();
  occupy(run, 1);
  if (options_.spread) neighbors_.arrive(job, lease.in_force(), touched_);
  open_spans(job);
  Duration overhead;
  if (!first) overhead = overheads_.restart;
  if (std::exchange(run.moving, false)) overhead += overheads_.migration;
  if (overhead == Duration()) return started(job, epoch);
  event_queue_.set(job, {now_ + overhead, job, EventQueue::Kind::kStarted, epoch});
}

void Simulation::started(JobId job, Epoch epoch) {
  begin_to_run(run_of(job));
  if (engine_.state().sharing_group(job) != nullptr) {
    share(job);
  } else {
    set_speed(job);
  }
  events_.push_back(LeaseStarted{job, epoch});
}

void Simulation::begin_to_run(Run& run) {
  run.running_since = now_;
  if (run.drawn) return;
  run.drawn = true;
  const TraceJob& job = trace_.jobs[run.trace_index];
  run.trouble = failure_schedule_.trouble(run.trace_index, job.gpus,
                                          result_.jobs[run.trace_index].failures, job.duration);
  // Times to failure are times at the reference speed, like the run times of the trace. A retry may
  // have less work left than that; then it finishes.
  if (run.trouble) run.fails_at = run.progress.left() - run.trouble->after.us();
}

// Returns when this attempt fails if it keeps running; never() if it does not fail.
Instant Simulation::failure_of(const Run& run) const {
  if (run.fails_at < 0 || run.running_since == Instant::never()) return Instant::never();
  return run.progress.when_left(run.fails_at);
}

// Sets the speed from the lease, the neighbors and the jobs that share its GPUs.
void Simulation::set_speed(JobId job) {
  Run& run = run_of(job);
  double speed = engine_.lease(job).speed;
  if (options_.spread) {
    const GpuSharingGroup* group = engine_.state().sharing_group(job);
    const bool time_sliced = group != nullptr && group->manner == SharingMode::kTimeSliced;
    speed *= neighbors_.factor(job, time_sliced);
  }
  speed *= run.packed;
  run.true_speed = speed * run.turns.part();
  if (!std::exchange(run.changed, true)) changed_.push_back(job);
  run.progress.set_speed(speed, now_, run.turns);
  const Instant finish = run.progress.finish();
  const Instant failure = failure_of(run);
  if (finish == Instant::never() && failure == Instant::never()) {
    event_queue_.clear(job);
  } else if (failure <= finish) {  // Also at the end of the work.
    event_queue_.set(job, {failure, job, EventQueue::Kind::kFail, 0});
  } else {
    event_queue_.set(job, {finish, job, EventQueue::Kind::kFinish, 0});
  }
}

// Updates the speed of gangs whose neighbors changed.
void Simulation::slow_down_touched() {
  for (const JobId job : touched_) {
    if (runs(job)) set_speed(job);
  }
  touched_.clear();
}

bool Simulation::runs(JobId job) const {
  const std::int32_t row = engine_.state().jobs[job].lease;
  return row != kNoRow && runs_[job.index()].running_since != Instant::never();
}

void Simulation::resize(JobId job) {
  close_spans(job, SpanEnd::kChanged);
  open_spans(job);
  if (engine_.lease(job).state == Lease::State::kRunning) set_speed(job);
}

// Restarts the time slices of the running jobs on the job's GPUs. The job that had the GPUs longest
// ago comes first.
void Simulation::share(JobId job) {
  company_.clear();
  const GpuSharingGroup* sharing_group = engine_.state().sharing_group(job);
  if (sharing_group == nullptr) {
    if (runs(job)) company_ = {job};
  } else {
    for (const JobId member : sharing_group->members) {
      if (runs(member)) company_.push_back(member);
    }
  }
  std::stable_sort(company_.begin(), company_.end(), [this](JobId a, JobId b) {
    return run_of(a).turns.last(now_) < run_of(b).turns.last(now_);
  });
  const bool packed = sharing_group != nullptr && sharing_group->manner == SharingMode::kPacked;
  for (std::size_t i = 0; i < company_.size(); ++i) {
    Run& run = run_of(company_[i]);
    count_gpu_time(run);
    run.sharers = static_cast<std::int64_t>(company_.size());
    run.turns = {};
    run.packed = 1;
    if (company_.size() > 1 && packed) {
      run.packed = packed_speed(company_[i], company_[1 - i]);
    } else if (company_.size() > 1) {
      run.turns = {run.sharers, static_cast<std::int64_t>(i), now_, slice_, overheads_.suspend};
    }
    set_speed(company_[i]);
  }
}

// Planners pack only measured pairs. For any other pair, each job gets half of the speed.
double Simulation::packed_speed(JobId job, JobId other) const {
  if (options_.pairs == nullptr) return 0.5;
  const auto profile = [this](JobId id) { return engine_.state().jobs[id].spec.profile; };
  const std::optional<PairSpeed> pair =
      options_.pairs->find(profile(job), profile(other), runs_[job.index()].gpus);
  return pair ? pair->first : 0.5;
}

void Simulation::stop(JobId job, Epoch epoch) {
  if (outcome_of(job).has_ended()) return;
  Run& run = run_of(job);
  run.moving = engine_.state().jobs[job].state == JobState::kPlaced;
  ++(run.moving ? outcome_of(job).migrations : outcome_of(job).preemptions);
  run.progress.set_speed(0, now_);
  run.running_since = Instant::never();
  run.saving -= engine_.waited(job, now_);
  if (overheads_.checkpoint == Duration()) return stopped(job, epoch);
  event_queue_.set(job, {now_ + overheads_.checkpoint, job, EventQueue::Kind::kStopped, epoch});
}

void Simulation::stopped(JobId job, Epoch epoch) {
  run_of(job).saving += engine_.waited(job, now_);
  release(job, run_of(job).moving ? SpanEnd::kMoved : SpanEnd::kStopped);
  events_.push_back(LeaseEnded{job, epoch, LeaseOutcome::kStopped});
}

void Simulation::complete(JobId job) {
  const std::size_t index = run_of(job).trace_index;
  const TraceJob& traced = trace_.jobs[index];
  if (failure_schedule_.is_killed(index, traced.gpus, traced.duration)) return kill(job);
  release(job, SpanEnd::kFinished);
  end(outcome_of(job), JobResult::kFinished);
  events_.push_back(LeaseEnded{job, engine_.state().jobs[job].epoch, LeaseOutcome::kCompleted});
}

void Simulation::end(JobOutcome& outcome, JobResult fate) {
  outcome.fate = fate;
  outcome.end = now_;
  ++ended_;
}

// The job holds no resources and has no next event until it starts again.
void Simulation::release(JobId job, SpanEnd ended) {
  event_queue_.clear(job);
  Run& run = run_of(job);
  JobOutcome& outcome = outcome_of(job);
  count_gpu_time(run);
  outcome.run += now_ - run.held_since;
  if (outcome.first_end == Instant::never()) outcome.first_end = now_;
  occupy(run, -1);
  run.running_since = Instant::never();
  run.sharers = 1;
  run.turns = {};
  run.packed = 1;
  if (options_.spread) neighbors_.leave(job, touched_);
  close_spans(job, ended);
}

}  // namespace muster
