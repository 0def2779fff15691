#include "sim/run/simulation.h"

#include <algorithm>
#include <utility>

#include "base/types/saturate.h"

namespace muster {

Simulation::Simulation(const Trace& trace, const Topology& topology, const ProfileTable& profiles,
                       const SimOptions& options)
    : trace_(trace),
      options_(options),
      imitated_(traits_of(options.compat)),
      overheads_(imitated_.ideal_machine ? no_overheads() : options.overheads),
      profiles_(compat_profiles(profiles, options.compat)),
      cluster_(topology, profiles_, options.spread ? kUsualSpread : SpreadFactors{}),
      neighbors_(topology.node_count()),
      failure_schedule_(imitated_.ideal_machine ? FailureOptions{} : options.failures, options.seed,
                        topology.node_count()),
      engine_(make_engine()),
      noise_(Random(options.seed).fork("estimates")),
      noisy_reports_(profiles_, options.report_noise, options.seed),
      free_gpus_(topology.total().gpus),
      sharing_(std::holds_alternative<GandivaOptions>(options.whole)) {
  result_.jobs.resize(trace.jobs.size());
  result_.failures.on = failure_schedule_.any();
  result_.numpy_statistics = imitated_.numpy_statistics;
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
  if (!sharing_) return;
  slice_ = std::get<GandivaOptions>(options.whole).slice;
  for (const Node& node : topology.nodes()) {
    holders_.push_back(std::vector<std::int32_t>(static_cast<std::size_t>(node.capacity.gpus)));
  }
}

SimResult Simulation::run() {
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

EngineOptions Simulation::engine_options() const {
  EngineOptions engine_options;
  engine_options.estimates = options_.estimates.kind;
  engine_options.round = options_.round;
  engine_options.quantum = options_.quantum;
  engine_options.first_round = first_round(trace_, options_.round, options_.compat);
  engine_options.plan_idle_rounds = options_.plan_idle_rounds;
  engine_options.checkpoint_interval = options_.checkpoint_interval;
  engine_options.retry = options_.retry;
  const bool several = options_.tenants != nullptr && options_.tenants->leaves() > 1;
  engine_options.nodes.tenants = several ? 2 : 1;
  return engine_options;
}

Engine Simulation::make_engine() {
  PlannerOptions wanted;
  wanted.parts = options_.parts;
  wanted.policy = options_.policy;
  wanted.whole = options_.whole;
  wanted.pairs = options_.pairs;
  wanted.mechanism = options_.mechanism;
  wanted.chain.seed = options_.seed;
  wanted.chain.tenants = options_.tenants;
  wanted.chain.checkpoint_interval = options_.checkpoint_interval;
  if (!imitated_.ideal_machine) wanted.chain.min_run = options_.min_run;
  MadePlanner made = make_compat_planner(cluster_, wanted, options_.compat);
  EngineOptions engine_settings = engine_options();
  engine_settings.pooling = made.pooling;
  engine_settings.plan_idle_rounds |= imitated_.plans_idle_rounds;
  return Engine(cluster_, std::move(made.planner), engine_settings);
}

// Names that no job uses (usually the empty name) need not be tenants.
TenantId Simulation::find_tenant(const std::string& name, std::size_t number) const {
  if (options_.tenants == nullptr) return TenantId(number);
  const Result<TenantId> found = options_.tenants->tenant_of_job(name);
  return found.ok() ? found.value() : TenantId();
}

// Returns nullopt for any type, and an out-of-range id for a type that the cluster does not have.
std::optional<GpuTypeId> Simulation::find_type(const std::string& name) const {
  if (name.empty()) return std::nullopt;
  const Topology& topology = cluster_.topology();
  for (std::size_t i = 0; i < topology.gpu_type_count(); ++i) {
    if (topology.gpu_type_name(GpuTypeId(i)) == name) return GpuTypeId(i);
  }
  return GpuTypeId(topology.gpu_type_count());
}

Instant Simulation::next_instant() const {
  Instant next = std::min({wake_, event_queue_.first().at, failure_schedule_.next_trial()});
  if (ended_ < trace_.jobs.size()) next = std::min(next, failure_schedule_.next_change());
  if (arrived_ < trace_.jobs.size()) next = std::min(next, trace_.jobs[arrived_].submit);
  return next;
}

// Ends come before arrivals, so that arrivals can use the freed resources.
void Simulation::gather_events() {
  while (event_queue_.first().at == now_) {
    const EventQueue::Entry due = event_queue_.first();
    switch (due.kind) {
      case EventQueue::Kind::kFinish:
        complete(due.job);
        break;
      case EventQueue::Kind::kFail:
        fail(due.job);
        break;
      case EventQueue::Kind::kStopped:
        stopped(due.job, due.tag);
        break;
      case EventQueue::Kind::kStarted:
        started(due.job, due.tag);
        break;
    }
  }
  while (failure_schedule_.next_change() == now_) change_node(failure_schedule_.pop_change());
  while (failure_schedule_.next_trial() == now_) end_trial(failure_schedule_.pop_trial());
  for (; arrived_ < trace_.jobs.size() && trace_.jobs[arrived_].submit == now_; ++arrived_) {
    const TraceJob& job = trace_.jobs[arrived_];
    if (!failure_schedule_.enter_pool(arrived_, job.gpus, job.duration, now_)) submit(arrived_);
  }
  if (wake_ == now_) {
    wake_ = Instant::never();
    report_running();
    events_.push_back(TimerFired{});
  }
}

void Simulation::submit(std::size_t index) {
  const TraceJob& job = trace_.jobs[index];
  result_.jobs[index].queued = now_;
  JobSpec spec;
  spec.gpus = job.gpus;
  spec.gpu_type = type_of_name_[job.gpu_type];
  if (spec.gpu_type && spec.gpu_type->index() == cluster_.topology().gpu_type_count()) {
    reject(index, "requests GPU type " + trace_.gpu_types[job.gpu_type] +
                      ", which the cluster does not have");
    return;
  }
  make_elastic(job, spec);
  spec.profile = profile_of_model_[job.model];
  spec.tenant = tenant_of_name_[job.tenant];
  spec.user = UserId(job.user);
  spec.name = NameId(job.name);
  Run run;
  run.trace_index = index;
  run.work = failure_schedule_.run_time(index, job.gpus, job.duration);
  spec.estimate = estimate(job, run.work);
  const double iteration = profiles_[spec.profile].iteration_seconds();
  if (imitated_.whole_iterations && job.iterations > 0 && iteration > 0) {
    run.progress = TrueProgress::of_iterations(job.iterations, iteration, options_.round);
  } else {
    run.progress = TrueProgress::of_work(run.work);
  }
  runs_.push_back(std::move(run));
  if (engine_.wants_reports() == Reports::kAll) try_out(spec.profile);
  events_.push_back(JobSubmitted{spec});
}

// Uses the range of the run if there is one, else that of the job, limited by the cluster.
void Simulation::make_elastic(const TraceJob& job, JobSpec& spec) const {
  const Topology& topology = cluster_.topology();
  const std::int32_t there =
      spec.gpu_type ? topology.gpus_of_type(*spec.gpu_type) : topology.total().gpus;
  std::int32_t fewest = job.fewest;
  std::int32_t most = job.most;
  if (options_.elastic) {
    fewest = std::min(options_.elastic->fewest, job.gpus);
    most = std::max(options_.elastic->most, job.gpus);
  }
  if (fewest == 0 || job.gpus > there) return;
  spec.fewest = fewest;
  spec.most = std::max(job.gpus, std::min(most, there));
}

void Simulation::try_out(ProfileId profile) {
  for (const TypeMeasured& trial : noisy_reports_.trials(profile)) events_.push_back(trial);
}

void Simulation::report_running() {
  switch (engine_.wants_reports()) {
    case Reports::kNone:
      return;
    case Reports::kAll:
      for (const JobId job : engine_.state().placed) report(job);
      return;
    case Reports::kChanged:
      for (const JobId job : std::exchange(changed_, {})) {
        if (std::exchange(run_of(job).changed, false)) report(job);
      }
      return;
  }
}

void Simulation::report(JobId job) {
  Run& run = run_of(job);
  const Job& row = engine_.state().jobs[job];
  if (row.lease == kNoRow || run.running_since == Instant::never()) return;
  run.progress.settle(now_);
  NoisyReports::Progress progress;
  progress.profile = row.spec.profile;
  progress.gpus = row.spec.gpus;
  progress.work = run.work;
  progress.done = run.work - Duration::micros(run.progress.left());
  progress.speed = run.true_speed;
  JobReported said = noisy_reports_.report(progress);
  said.job = job;
  said.epoch = row.epoch;
  events_.push_back(said);
}

Duration Simulation::estimate(const TraceJob& job, Duration work) {
  switch (options_.estimates.kind) {
    case EstimateSource::Kind::kOracle:
      return std::max(work, Duration::micros(1));
    case EstimateSource::Kind::kNoisy: {
      const double error =
          portable_exp(std::clamp(options_.estimates.sigma * noise_.normal(), -20.0, 20.0));
      const double guess = static_cast<double>(work.us()) * error;
      const auto longest = static_cast<double>(kLongestDuration.us());
      return Duration::micros(static_cast<std::int64_t>(std::clamp(guess, 1.0, longest)));
    }
    case EstimateSource::Kind::kUser:
      return job.user_estimate;
    case EstimateSource::Kind::kHistory:
    case EstimateSource::Kind::kProgress:
      break;
  }
  return Duration();
}

void Simulation::reject(std::size_t index, std::string why) {
  result_.jobs[index].fate = JobResult::kRejected;
  result_.jobs[index].why_rejected = std::move(why);
  ++ended_;
}

SimResult Simulation::finish() {
  if (result_.partial) {  // Running jobs have held their GPUs until now.
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const Job& job = engine_.state().jobs[JobId(i)];
      const bool holds =
          job.ending != kNoRow ||
          (job.lease != kNoRow && engine_.lease(JobId(i)).state != Lease::State::kPromised);
      if (holds) release(JobId(i), SpanEnd::kHeld);
    }
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) note_waiting(JobId(i));
  result_.events = engine_.counters().events;
  result_.decisions = engine_.counters().decisions;
  result_.rounds = engine_.counters().plans;
  result_.digest = engine_.digest();
  return std::move(result_);
}

}  // namespace muster
