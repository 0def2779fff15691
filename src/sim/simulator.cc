#include "sim/simulator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/saturate.h"
#include "sim/neighbours.h"
#include "sim/preparation.h"
#include "sim/timetable.h"
#include "sim/truth.h"

namespace muster {

namespace {

class Simulation {
 public:
  Simulation(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
             const SimOptions& options)
      : trace_(trace),
        options_(options),
        overheads_(options.compat == Compat::kNone ? options.overheads
                                                   : Overheads{Duration(), Duration(), Duration()}),
        profiles_(profiles_for(profiles, options.compat)),
        cluster_(topology, profiles_, options.spread ? kUsualSpread : SpreadFactors{}),
        neighbours_(topology.node_count()),
        troubles_(options.compat == Compat::kNone ? options.failures : FailureOptions{},
                  options.seed, topology.node_count()),
        engine_(make_engine()),
        noise_(Random(options.seed).fork("estimates")) {
    result_.jobs.resize(trace.jobs.size());
    result_.failures.on = troubles_.any();
    runs_.reserve(trace.jobs.size());
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      result_.jobs[i].submit = trace.jobs[i].submit;
      result_.jobs[i].gpus = trace.jobs[i].gpus;
      result_.jobs[i].tenant = TenantId(trace.jobs[i].tenant);
    }
    for (std::size_t i = 0; i < trace.models.size(); ++i) {
      profile_of_model_.push_back(profiles_.find(trace.models[static_cast<std::uint32_t>(i)]));
    }
    for (std::size_t i = 0; i < trace.tenants.size(); ++i) {
      tenant_of_name_.push_back(find_tenant(trace.tenants[static_cast<std::uint32_t>(i)], i));
    }
    for (std::size_t i = 0; i < trace.gpu_types.size(); ++i) {
      type_of_name_.push_back(find_type(trace.gpu_types[static_cast<std::uint32_t>(i)]));
    }
  }

  SimResult run() {
    std::uint32_t until_progress = 0;
    while (true) {
      const Instant now = next_instant();
      if (now == Instant::never()) break;
      if (until_progress-- == 0 && options_.progress) {
        until_progress = 256;
        if (!options_.progress(ended_, trace_.jobs.size())) {
          result_.partial = true;
          break;
        }
      }
      now_ = now;
      gather_events();
      while (!events_.empty()) {
        const std::span<const Action> actions = engine_.step(now_, events_);
        events_.clear();
        for (const Action& action : actions) carry_out(action);
        slow_down_touched();
        if (options_.check_invariants) engine_.state().check_invariants();
      }
      if (options_.history) note_timeline();
    }
    return finish();
  }

 private:
  // One job as the simulator sees it. Index = JobId.
  struct Run {
    std::size_t trace_index;
    TrueProgress progress;
    bool moving = false;  // Its next start is a move.
    Instant held_since;   // Of the lease it holds.
    WaitSplit saving;     // What the planner took for waiting while it was still saving.
    Placement placement;  // Of the open spans, when history is kept.
    double speed = 0;
    Instant span_begin;
    std::optional<Trouble> trouble;  // Ahead of this attempt.
    bool drawn = false;              // Whether that has been looked up.
    Duration attempt_ran;            // In earlier leases of the attempt.
    Instant running_since;           // In this one; never() while it does not.
    std::int64_t left_before = 0;    // Work left when it got its lease.
    std::int64_t gpu_us = 0;         // Held in all.
  };

  EngineOptions engine_options() const {
    EngineOptions engine_options;
    engine_options.estimates = options_.estimates.kind;
    engine_options.round = options_.round;
    engine_options.first_round = first_round(trace_, options_);
    engine_options.plan_idle_rounds = options_.plan_idle_rounds;
    engine_options.checkpoint_interval = options_.checkpoint_interval;
    engine_options.retry = options_.retry;
    return engine_options;
  }

  Engine make_engine() {
    if (options_.philly) {
      PhillyOptions philly = *options_.philly;
      philly.tenants = options_.tenants;
      philly.min_run = options_.min_run;
      return Engine(cluster_, std::make_unique<Philly>(cluster_, philly), engine_options());
    }
    ChainOptions chain_options;
    chain_options.seed = options_.seed;
    chain_options.rebuild = options_.compat == Compat::kSynergy;
    chain_options.stable_ties = options_.compat == Compat::kTiresias;
    chain_options.tenants = options_.tenants;
    chain_options.checkpoint_interval = options_.checkpoint_interval;
    if (options_.compat == Compat::kNone) chain_options.min_run = options_.min_run;
    std::unique_ptr<Chain> chain =
        make_chain(options_.parts, options_.policy, cluster_, chain_options,
                   options_.mechanism ? options_.mechanism() : nullptr);
    EngineOptions chained = engine_options();
    chained.pooling = chain->pooling();
    // Rebuilt placements depend on the order of the moment, so every round counts.
    chained.plan_idle_rounds |= chain_options.rebuild;
    return Engine(cluster_, std::move(chain), chained);
  }

  // Names that no job bears (the empty one, as a rule) need not be tenants.
  TenantId find_tenant(const std::string& name, std::size_t number) const {
    if (options_.tenants == nullptr) return TenantId(number);
    const Result<TenantId> found = options_.tenants->tenant_of_job(name);
    return found.ok() ? found.value() : TenantId();
  }

  // Empty for any type; a type the cluster has not is found but out of range.
  std::optional<GpuTypeId> find_type(const std::string& name) const {
    if (name.empty()) return std::nullopt;
    const Topology& topology = cluster_.topology();
    for (std::size_t i = 0; i < topology.gpu_type_count(); ++i) {
      if (topology.gpu_type_name(GpuTypeId(i)) == name) return GpuTypeId(i);
    }
    return GpuTypeId(topology.gpu_type_count());
  }

  Instant next_instant() const {
    Instant next = std::min({wake_, timetable_.first().at, troubles_.next_trial()});
    if (ended_ < trace_.jobs.size()) next = std::min(next, troubles_.next_change());
    if (arrived_ < trace_.jobs.size()) next = std::min(next, trace_.jobs[arrived_].submit);
    return next;
  }

  // Ends come before arrivals, so that what they free is there for them.
  void gather_events() {
    while (timetable_.first().at == now_) {
      const Timetable::Entry due = timetable_.first();
      switch (due.kind) {
        case Timetable::Kind::kFinish:
          complete(due.job);
          break;
        case Timetable::Kind::kFail:
          fail(due.job);
          break;
        case Timetable::Kind::kStopped:
          stopped(due.job, due.tag);
          break;
        case Timetable::Kind::kStarted:
          started(due.job, due.tag);
          break;
      }
    }
    while (troubles_.next_change() == now_) change_server(troubles_.pop_change());
    while (troubles_.next_trial() == now_) end_trial(troubles_.pop_trial());
    for (; arrived_ < trace_.jobs.size() && trace_.jobs[arrived_].submit == now_; ++arrived_) {
      const TraceJob& job = trace_.jobs[arrived_];
      if (!troubles_.enter_pool(arrived_, job.gpus, job.duration, now_)) submit(arrived_);
    }
    if (wake_ == now_) {
      wake_ = Instant::never();
      events_.push_back(TimerFired{});
    }
  }

  void submit(std::size_t index) {
    const TraceJob& job = trace_.jobs[index];
    JobSpec spec;
    spec.gpus = job.gpus;
    spec.gpu_type = type_of_name_[job.gpu_type];
    if (spec.gpu_type && spec.gpu_type->index() == cluster_.topology().gpu_type_count()) {
      reject(index, "asks for GPU type " + trace_.gpu_types[job.gpu_type] +
                        ", of which the cluster has none");
      return;
    }
    spec.profile = profile_of_model_[job.model];
    spec.tenant = tenant_of_name_[job.tenant];
    spec.user = UserId(job.user);
    spec.name = NameId(job.name);
    spec.estimate = estimate(job);
    Run run;
    run.trace_index = index;
    const double iteration = profiles_[spec.profile].iteration_seconds();
    if (options_.compat == Compat::kSynergy && job.iterations > 0 && iteration > 0) {
      run.progress = TrueProgress::of_iterations(job.iterations, iteration, options_.round);
    } else {
      run.progress = TrueProgress::of_work(job.duration);
    }
    runs_.push_back(std::move(run));
    events_.push_back(JobSubmitted{spec});
  }

  Duration estimate(const TraceJob& job) {
    switch (options_.estimates.kind) {
      case EstimateSource::Kind::kOracle:
        return std::max(job.duration, Duration::micros(1));
      case EstimateSource::Kind::kNoisy: {
        const double error =
            portable_exp(std::clamp(options_.estimates.sigma * noise_.normal(), -20.0, 20.0));
        const double guess = static_cast<double>(job.duration.us()) * error;
        const auto longest = static_cast<double>(kLongestDuration.us());
        return Duration::micros(static_cast<std::int64_t>(std::clamp(guess, 1.0, longest)));
      }
      case EstimateSource::Kind::kUser:
        return job.user_estimate;
      case EstimateSource::Kind::kHistory:
        break;
    }
    return Duration();
  }

  void reject(std::size_t index, std::string why) {
    result_.jobs[index].fate = Fate::kRejected;
    result_.jobs[index].why_rejected = std::move(why);
    ++ended_;
  }

  Run& run_of(JobId job) { return runs_[job.index()]; }
  JobOutcome& outcome_of(JobId job) { return result_.jobs[run_of(job).trace_index]; }

  void carry_out(const Action& action) {
    switch (action.kind) {
      case Action::Kind::kStart:
        return start(action.job, action.epoch);
      case Action::Kind::kStop:
        return stop(action.job, action.epoch);
      case Action::Kind::kResize:
        return resize(action.job);
      case Action::Kind::kGiveUp:
        return give_up(action.job);
      case Action::Kind::kReject:
        return reject(run_of(action.job).trace_index, engine_.why_rejected(action.job));
      case Action::Kind::kWakeAt:
        wake_ = action.at;
        return;
    }
  }

  void start(JobId job, Epoch epoch) {
    Run& run = run_of(job);
    JobOutcome& outcome = outcome_of(job);
    const bool first = outcome.start == Instant::never();
    if (first) outcome.start = now_;
    run.held_since = now_;
    run.left_before = run.progress.left();
    run.running_since = Instant::never();
    note_free(-outcome.gpus);
    if (options_.spread) neighbours_.arrive(job, engine_.lease(job).in_force(), touched_);
    open_spans(job);
    Duration overhead;
    if (!first) overhead = overheads_.restart;
    if (std::exchange(run.moving, false)) overhead += overheads_.migration;
    if (overhead == Duration()) return started(job, epoch);
    timetable_.set(job, {now_ + overhead, job, Timetable::Kind::kStarted, epoch});
  }

  void started(JobId job, Epoch epoch) {
    begin_to_run(run_of(job));
    set_speed(job, engine_.lease(job).speed);
    events_.push_back(LeaseStarted{job, epoch});
  }

  void begin_to_run(Run& run) {
    run.running_since = now_;
    if (run.drawn) return;
    run.drawn = true;
    const TraceJob& job = trace_.jobs[run.trace_index];
    run.trouble = troubles_.trouble(run.trace_index, job.gpus,
                                    result_.jobs[run.trace_index].failures, job.duration);
  }

  // When this attempt fails if it runs on; never() if it does not.
  Instant failure_of(const Run& run) const {
    if (!run.trouble || run.running_since == Instant::never()) return Instant::never();
    const Duration left = run.trouble->after - run.attempt_ran;
    return run.running_since + std::max(left, Duration::micros(1));
  }

  // The lease is over otherwise than by an end or a failure: the attempt goes on later.
  void pause_attempt(Run& run) {
    if (run.running_since == Instant::never()) return;
    run.attempt_ran += now_ - run.running_since;
    run.running_since = Instant::never();
  }

  void set_speed(JobId job, double speed) {
    Run& run = run_of(job);
    if (options_.spread) speed *= neighbours_.factor(job);
    run.progress.set_speed(speed, now_);
    const Instant finish = run.progress.finish();
    const Instant failure = failure_of(run);
    if (failure < finish) {
      timetable_.set(job, {failure, job, Timetable::Kind::kFail, 0});
    } else if (finish == Instant::never()) {
      timetable_.clear(job);
    } else {
      timetable_.set(job, {finish, job, Timetable::Kind::kFinish, 0});
    }
  }

  // Gangs whose neighbours came or went run at another speed from now on.
  void slow_down_touched() {
    for (const JobId job : touched_) {
      const Job& row = engine_.state().jobs[job];
      if (row.lease == kNoRow || engine_.lease(job).state != Lease::State::kRunning) continue;
      set_speed(job, engine_.lease(job).speed);
    }
    touched_.clear();
  }

  void resize(JobId job) {
    close_spans(job);
    open_spans(job);
    const Lease& lease = engine_.lease(job);
    if (lease.state == Lease::State::kRunning) set_speed(job, lease.speed);
  }

  void stop(JobId job, Epoch epoch) {
    Run& run = run_of(job);
    run.moving = engine_.state().jobs[job].state == JobState::kPlaced;
    ++(run.moving ? outcome_of(job).migrations : outcome_of(job).preemptions);
    run.progress.set_speed(0, now_);
    pause_attempt(run);
    run.saving -= engine_.waited(job, now_);
    if (overheads_.checkpoint == Duration()) return stopped(job, epoch);
    timetable_.set(job, {now_ + overheads_.checkpoint, job, Timetable::Kind::kStopped, epoch});
  }

  void stopped(JobId job, Epoch epoch) {
    run_of(job).saving += engine_.waited(job, now_);
    release(job);
    events_.push_back(LeaseEnded{job, epoch, LeaseOutcome::kStopped});
  }

  void end(JobOutcome& outcome, Fate fate) {
    outcome.fate = fate;
    outcome.end = now_;
    ++ended_;
  }

  void complete(JobId job) {
    release(job);
    end(outcome_of(job), Fate::kFinished);
    events_.push_back(LeaseEnded{job, engine_.state().jobs[job].epoch, LeaseOutcome::kCompleted});
  }

  // What it did since its last checkpoint is lost; returns the GPU time that cost.
  // A fault of the job itself, which meets every attempt alike, leaves nothing worth saving.
  std::int64_t lose_unsaved(JobId job, bool all = false) {
    Run& run = run_of(job);
    run.progress.set_speed(0, now_);
    const std::int64_t before = run.progress.left();
    run.progress.fall_back(run.left_before, options_.checkpoint_interval);
    if (all) run.progress = TrueProgress::of_work(trace_.jobs[run.trace_index].duration);
    const std::int64_t lost =
        saturating_multiply(run.progress.left() - before, outcome_of(job).gpus);
    outcome_of(job).lost_gpu_us += lost;
    return lost;
  }

  void fail(JobId job) {
    Run& run = run_of(job);
    JobOutcome& outcome = outcome_of(job);
    const Reason reason = run.trouble->reason;
    const auto index = static_cast<std::size_t>(reason);
    ++result_.failures.attempts[index];
    result_.failures.lost_gpu_us[index] += lose_unsaved(job, run.trouble->sticky);
    ++outcome.failures;
    outcome.last_failure = reason;
    run.trouble.reset();
    run.drawn = false;
    run.attempt_ran = Duration();
    run.running_since = Instant::never();
    release(job);
    events_.push_back(AttemptFailed{job, engine_.state().jobs[job].epoch, reason});
  }

  // All it ever did was for nothing.
  void give_up(JobId job) {
    JobOutcome& outcome = outcome_of(job);
    const std::int64_t more = run_of(job).gpu_us - outcome.lost_gpu_us;
    outcome.lost_gpu_us += more;
    result_.failures.lost_gpu_us[static_cast<std::size_t>(*outcome.last_failure)] += more;
    end(outcome, Fate::kFailed);
  }

  void end_trial(const Troubles::Trial& trial) {
    JobOutcome& outcome = result_.jobs[trial.job];
    outcome.run += trial.took;
    result_.failures.pre_run_gpu_us += trial.took.us();
    if (!trial.caught) return submit(trial.job);
    ++result_.failures.caught;
    ++result_.failures.attempts[static_cast<std::size_t>(trial.reason)];
    outcome.failures = 1;
    outcome.last_failure = trial.reason;
    end(outcome, Fate::kFailed);
  }

  // Whoever is on a server that goes stops where it is, and has what it last saved.
  void change_server(const Troubles::Change& change) {
    if (!change.down) {
      events_.push_back(NodeOpened{change.node});
      return;
    }
    ++result_.failures.outages;
    const State& state = engine_.state();
    std::vector<std::pair<JobId, Epoch>> there;
    for (const Lease& lease : state.leases) {
      if (lease.state == Lease::State::kUnused || lease.state == Lease::State::kPromised) continue;
      const Placement& held =
          lease.state == Lease::State::kStopping ? lease.placement : lease.in_force();
      const bool hit = std::any_of(held.begin(), held.end(),
                                   [&](const Share& share) { return share.node == change.node; });
      if (hit) there.emplace_back(lease.job, lease.epoch);
    }
    std::sort(there.begin(), there.end());
    for (const auto& [job, epoch] : there) {
      pause_attempt(run_of(job));
      result_.failures.outage_gpu_us += lose_unsaved(job);
      if (state.jobs[job].ending != kNoRow) {
        stopped(job, epoch);
        continue;
      }
      release(job);
      events_.push_back(LeaseEnded{job, epoch, LeaseOutcome::kStopped});
    }
    events_.push_back(NodeClosed{change.node});
  }

  // It holds nothing any more, and nothing is ahead of it until it starts again.
  void release(JobId job) {
    timetable_.clear(job);
    Run& run = run_of(job);
    JobOutcome& outcome = outcome_of(job);
    const Duration held = now_ - run.held_since;
    const std::int64_t gpu_us = saturating_multiply(held.us(), outcome.gpus);
    run.gpu_us = saturating_add(run.gpu_us, gpu_us);
    result_.gpu_us = saturating_add(result_.gpu_us, gpu_us);
    outcome.run += held;
    if (outcome.first_end == Instant::never()) outcome.first_end = now_;
    note_free(outcome.gpus);
    if (options_.spread) neighbours_.leave(job, touched_);
    close_spans(job);
  }

  void note_free(std::int32_t more) {
    free_gpus_ += more;
    if (result_.free.empty() || result_.free.back().at != now_) result_.free.push_back({now_, 0});
    result_.free.back().free = free_gpus_;
  }

  void open_spans(JobId job) {
    if (!options_.history) return;
    Run& run = run_of(job);
    run.placement = engine_.lease(job).in_force();
    run.speed = engine_.lease(job).speed;
    run.span_begin = now_;
  }
  void close_spans(JobId job) {
    Run& run = run_of(job);
    for (const Share& share : run.placement) {
      if (now_ == run.span_begin) break;
      result_.spans.push_back({JobId(run.trace_index), share.node, share.slots, share.cpu_milli,
                               share.mem_mib, run.speed, run.span_begin, now_});
    }
    run.placement.clear();
  }

  void note_timeline() {
    const State& state = engine_.state();
    TimelinePoint point;
    point.at = now_;
    Resources used;
    for (const JobId job : state.placed) {
      const Lease& lease = engine_.lease(job);
      used += lease.total;
      if (lease.state == Lease::State::kRunning) point.speed += lease.speed;
    }
    point.busy_gpus = used.gpus;
    point.cpu_milli = used.cpu_milli;
    point.mem_mib = used.mem_mib;
    point.running = static_cast<std::int32_t>(state.placed.size());
    point.waiting = static_cast<std::int32_t>(state.waiting);
    result_.timeline.push_back(point);
  }

  SimResult finish() {
    if (result_.partial) {  // What still runs has held its GPUs until now.
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        const Job& job = engine_.state().jobs[JobId(i)];
        const bool holds =
            job.ending != kNoRow ||
            (job.lease != kNoRow && engine_.lease(JobId(i)).state != Lease::State::kPromised);
        if (holds) release(JobId(i));
      }
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) note_waiting(JobId(i));
    result_.events = engine_.counters().events;
    result_.decisions = engine_.counters().decisions;
    result_.rounds = engine_.counters().plans;
    result_.digest = engine_.digest();
    return std::move(result_);
  }

  // What the planner does not account for is the time between a promise and its start.
  void note_waiting(JobId job) {
    JobOutcome& outcome = outcome_of(job);
    outcome.waiting = engine_.waited(job, now_);
    outcome.waiting -= run_of(job).saving;
    if (outcome.fate != Fate::kFinished) return;
    Duration unexplained = outcome.wait();
    for (const Duration part : outcome.waiting.by_cause) unexplained -= part;
    MUSTER_CHECK(unexplained >= Duration());
    // Or, of one that failed, the time until it may be tried again.
    outcome.waiting[outcome.failures > 0 ? WaitCause::kBackoff : WaitCause::kOrder] += unexplained;
  }

  const Trace& trace_;
  const SimOptions& options_;
  Overheads overheads_;
  ProfileTable profiles_;
  Cluster cluster_;
  Neighbours neighbours_;
  Troubles troubles_;
  Engine engine_;
  Random noise_;
  std::vector<ProfileId> profile_of_model_;
  std::vector<std::optional<GpuTypeId>> type_of_name_;
  std::vector<TenantId> tenant_of_name_;

  Instant now_;
  Instant wake_ = Instant::never();
  std::size_t arrived_ = 0;
  std::size_t ended_ = 0;
  std::int32_t free_gpus_ = cluster_.topology().total().gpus;
  std::vector<Run> runs_;
  Timetable timetable_;
  std::vector<Event> events_;   // For the next step.
  std::vector<JobId> touched_;  // Gangs whose neighbours changed.
  SimResult result_;
};

}  // namespace

SimResult simulate(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
                   const SimOptions& options) {
  MUSTER_CHECK(!check_parts(options.parts));
  MUSTER_CHECK(options.compat != Compat::kSynergy || options.round > Duration());
  return Simulation(trace, topology, profiles, options).run();
}

}  // namespace muster
