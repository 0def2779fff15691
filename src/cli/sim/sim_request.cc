#include "cli/sim/sim_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "base/text/text.h"
#include "cli/common/command.h"
#include "workload/generate/generator.h"
#include "workload/input/pairs_file.h"

namespace muster {

namespace {

// The default workload: more load than 128 GPUs with proportional shares can handle.
GeneratorOptions builtin_workload(std::uint64_t seed) {
  GeneratorOptions options;
  options.jobs = 3000;
  options.jobs_per_hour = 9;
  options.seed = 41 + seed;
  return options;
}

Result<Window> parse_window(std::string_view text, std::size_t jobs) {
  const std::vector<std::string_view> parts = split(text, ':');
  const auto fail = [&](const std::string& why) {
    return Error{"--window " + in_quotes(text) + ": " + why};
  };
  if (parts.size() != 2) return fail("write FIRST:LAST, such as 1000:2000");
  const Result<std::int64_t> first = parse_int(parts[0]);
  const Result<std::int64_t> last = parse_int(parts[1]);
  if (!first.ok()) return fail(first.error().message);
  if (!last.ok()) return fail(last.error().message);
  if (first.value() < 0 || first.value() >= last.value()) {
    return fail("FIRST must be less than LAST, and not negative");
  }
  if (static_cast<std::size_t>(last.value()) > jobs) {
    return fail(fmt::format("the trace has {} jobs", jobs));
  }
  return Window{static_cast<std::size_t>(first.value()), static_cast<std::size_t>(last.value())};
}

// Checks that every job's model has the data that the scheduler or simulator needs.
MaybeError check_models(const Trace& trace, const ProfileTable& profiles,
                        const SimOptions& options) {
  const bool losses = std::holds_alternative<OptimusOptions>(options.whole);
  for (const TraceJob& job : trace.jobs) {
    const Profile& profile = profiles[profiles.find(trace.models[job.model])];
    if (losses && !profile.loss()) {
      return Error{
          fmt::format("--scheduler optimus: job {}: model {}: the profile has no loss curve (key "
                      "loss), which optimus needs to predict run times",
                      in_quotes(job.id), in_quotes(profile.name()))};
    }
    if (traits_of(options.compat).whole_iterations && job.iterations > 0 &&
        profile.iteration_seconds() > options.round.in_seconds()) {
      return Error{
          fmt::format("--round: {} s is shorter than one iteration of '{}' ({} s); --compat {} "
                      "only counts whole iterations",
                      options.round.in_seconds(), profile.name(), profile.iteration_seconds(),
                      traits_of(options.compat).name)};
    }
  }
  return std::nullopt;
}

}  // namespace

void SimRequest::add_options(Command command) {
  command_ = command;
  add_workload_options(command);
  add_part_options(command);
  add_cost_options(command);
  add_planner_options(command);
  add_failure_options(command);
  command.add_option("--compat", compat_, "imitate another simulator: tiresias or synergy");
  command.add_option("--window", window_,
                     "limit statistics to the jobs FIRST:LAST in arrival order");
  command.add_option("--seed", seed_, "seed of the random numbers")
      .check(refuse_seed)
      .capture_default_str();
}

void SimRequest::add_workload_options(Command command) {
  command.add_option("--trace", trace_, "workload file (default: a built-in workload)");
  trace_options_.add_to(command);
  command.add_option("--from-live", from_live_,
                     "past of a live manager: its state directory, socket or journal.db");
  command.add_option("--since", since_,
                     "with --from-live: only jobs submitted since: 7d, or 2026-11-01T12:00:00");
  command
      .add_option("--cluster", cluster_,
                  "cluster: file, or NODESxGPUS[,cpus=,mem=,storage=,racks=,gpu=]")
      .capture_default_str();
}

void SimRequest::add_part_options(Command command) {
  command.add_option("--scheduler", scheduler_,
                     "scheduler as published, instead of parts: philly, tiresias, gandiva, "
                     "optimus, synergy; a list compares them");
  command.add_option("--policy", policy_,
                     "policy that orders the queue; a list compares: fifo,srtf (default: fifo)");
  command.add_option("--mechanism", mechanism_,
                     "mechanism that assigns CPU and memory; or a list (default: proportional)");
  command.add_option("--placement", placement_,
                     "placement that chooses nodes; or a list (default: consolidate; with "
                     "--compat: count or first-fit)");
  command.add_option("--queues", queues_,
                     "mlfq-* only: attained GPU time at which a job moves to the next queue: "
                     "3250s,7200s (default: 3250s)");
  command.add_flag("--queues-by-time", queues_by_time_,
                   "mlfq-* only: use run time instead of GPU time");
  command.add_option("--promote", promote_,
                     "mlfq-* only: move a job to the first queue after it waited N times its run "
                     "time, or off (default: 16; with --compat: off)");
  command.add_option("--service", service_,
                     "*gittins only: file of GPU-seconds of earlier jobs, one per line (default: "
                     "learned)");
  command.add_option("--gittins-quantum", gittins_quantum_,
                     "gittins only: service quantum (default: 3250s)");
  command.add_option("--round", round_, "interval between plans (default: plan at every event)");
  command
      .add_option("--estimates", estimates_,
                  "source of run-time estimates: oracle, noisy:SIGMA, user, history; or a list")
      .capture_default_str();
  command.add_option("--profiles", profiles_,
                     "file of model profiles (default: the built-in profiles)");
}

void SimRequest::add_cost_options(Command command) {
  command.add_option("--checkpoint-cost", checkpoint_, "time lost when a job is stopped")
      .capture_default_str();
  command.add_option("--restart-cost", restart_, "time lost when a job is started again")
      .capture_default_str();
  command
      .add_option("--migration-cost", migration_,
                  "additional time lost when a job moves to other nodes")
      .capture_default_str();
  command
      .add_option("--suspend-cost", suspend_,
                  "time lost in each time slice on a GPU that several jobs share")
      .capture_default_str();
  command
      .add_option("--checkpoint-interval", checkpoint_interval_,
                  "interval between checkpoints of a running job")
      .capture_default_str();
  command.add_option("--min-run", min_run_,
                     "minimum run time before a job can be preempted (default: the checkpoint "
                     "interval)");
}

void SimRequest::add_planner_options(Command command) {
  command.add_option("--tenants", tenants_,
                     "tenant quotas: file, a=64,b=32[,share=weight][,reclaim=0.9], or "
                     "infer[,headroom=1.5]");
  command.add_option("--spread", spread_,
                     "on: gangs on several nodes run slower; or off (default: on with --scheduler, "
                     "otherwise off)");
  command
      .add_option("--acquire-timeout", acquire_,
                  "philly only: how long a job waits for the nodes it requested")
      .capture_default_str();
  command
      .add_option("--back-off", back_off_, "philly only: back-off time after the acquire timeout")
      .capture_default_str();
  command
      .add_option("--relax-after", relax_after_,
                  "philly only: attempts before a job accepts less locality, or never")
      .capture_default_str();
  command.add_option("--slice", slice_, "gandiva only: time slice on a GPU that several jobs share")
      .capture_default_str();
  command
      .add_option("--jobs-per-gpu", jobs_per_gpu_,
                  "gandiva only: maximum number of jobs that share a GPU")
      .capture_default_str();
  command.add_option("--pairs", pairs_,
                     "gandiva only: file of speeds of two models on one GPU (default: no packing)");
  command.add_option("--elastic", elastic_,
                     "gandiva and optimus only: MIN-MAX GPUs for all jobs, or declared: only jobs "
                     "with a declared range are elastic (default: declared; optimus: 1-16)");
  command
      .add_option("--report-noise", report_noise_,
                  "relative noise of the speeds and losses that jobs report")
      .check_range(0.0, 1.0)
      .capture_default_str();
}

void SimRequest::add_failure_options(Command command) {
  command.add_option("--failures", failures_,
                     "injected failures and killed jobs: on (rates of the Philly study), a factor "
                     "of these rates such as 0.5, or off (default: off)");
  command.add_option("--retry", retry_, "retry policy for failed jobs: none, fixed:N or adaptive")
      .capture_default_str();
  command.add_flag("--pre-run", pre_run_, "run multi-GPU jobs on one GPU of a pool first");
  command.add_option("--server-mtbf", node_mtbf_,
                     "mean time between failures of a node (default: nodes do not fail)");
  command.add_option("--server-repair", node_repair_, "mean repair time of a node")
      .capture_default_str();
}

MaybeError SimRequest::refuse_empty() const {
  MaybeError refusal =
      command_.refuse_empty({"--trace", "--format", "--throughputs", "--profiles", "--cluster",
                             "--tenants", "--pairs", "--policy", "--mechanism", "--placement",
                             "--scheduler", "--round", "--from-live", "--since"});
  if (refusal) return refusal;
  for (const char* option : {"--format", "--throughputs"}) {
    if (!trace_.empty() || command_.count(option) == 0) continue;
    return Error{std::string(option) + ": requires --trace"};
  }
  return std::nullopt;
}

MaybeError SimRequest::read_files(SimPlan& plan, std::ostream& notes) const {
  Result<ClusterFile> cluster = load_cluster(cluster_, notes);
  if (!cluster.ok()) return cluster.error();
  plan.topology = std::move(cluster.value().topology);
  plan.tenants = std::move(cluster.value().tenants);
  Result<ProfileTable> profiles = load_profiles(profiles_, notes);
  if (!profiles.ok()) return profiles.error();
  plan.profiles = std::move(profiles).value();
  if (pairs_.empty()) return std::nullopt;
  Result<PairsFile> pairs = read_pairs(pairs_, plan.profiles);
  if (!pairs.ok()) return pairs.error();
  for (const std::string& note : pairs.value().notes) notes << "note: " << note << '\n';
  plan.pairs = std::move(pairs.value().table);
  return std::nullopt;
}

Result<SimOptions> SimRequest::read_common() const {
  SimOptions common;
  const Result<Compat> compat = parse_compat(compat_);
  if (!compat.ok()) return compat.error();
  common.compat = compat.value();
  if (const MaybeError refusal = read_failures(common)) return *refusal;
  common.seed = seed_;
  common.report_noise = report_noise_;
  const std::array<std::tuple<const char*, const std::string*, Duration*>, 6> durations = {{
      {"--checkpoint-cost", &checkpoint_, &common.overheads.checkpoint},
      {"--restart-cost", &restart_, &common.overheads.restart},
      {"--migration-cost", &migration_, &common.overheads.migration},
      {"--suspend-cost", &suspend_, &common.overheads.suspend},
      {"--checkpoint-interval", &checkpoint_interval_, &common.checkpoint_interval},
      {"--min-run", &min_run_, &common.min_run},
  }};
  for (const auto& [option, text, target] : durations) {
    if (text->empty()) continue;
    const Result<Duration> duration = parse_option(option, *text);
    if (!duration.ok()) return duration.error();
    *target = duration.value();
  }
  if (min_run_.empty()) common.min_run = common.checkpoint_interval;
  return common;
}

Result<std::size_t> SimRequest::count_runs() const {
  if (const MaybeError refusal = refuse_empty()) return *refusal;
  if (from_live()) return Error{"--from-live: only for muster sim"};
  const Result<SimOptions> common = read_common();
  if (!common.ok()) return common.error();
  const Result<std::vector<SimOptions>> runs = read_runs(common.value());
  if (!runs.ok()) return runs.error();
  return runs.value().size();
}

MaybeError SimRequest::check_trace(const SimPlan& plan) const {
  for (const SimOptions& options : plan.runs) {
    if (MaybeError refusal = check_models(plan.trace, plan.profiles, options)) return refusal;
  }
  const bool user_estimates =
      std::any_of(plan.runs.begin(), plan.runs.end(), [](const SimOptions& options) {
        return options.estimates.kind == EstimateSource::Kind::kUser;
      });
  if (user_estimates && command_.count("--estimates") > 0 &&
      std::none_of(plan.trace.jobs.begin(), plan.trace.jobs.end(),
                   [](const TraceJob& job) { return job.user_estimate > Duration(); })) {
    return Error{"--estimates user: no job of " + in_quotes(plan.trace.source) +
                 " has an estimate (column estimate_s)"};
  }
  return std::nullopt;
}

Result<std::unique_ptr<SimPlan>> SimRequest::prepare(std::ostream& notes) const {
  if (const MaybeError refusal = refuse_empty()) return *refusal;
  auto plan = std::make_unique<SimPlan>();
  if (const MaybeError refusal = read_files(*plan, notes)) return *refusal;
  Result<SimOptions> common = read_common();
  if (!common.ok()) return common.error();
  if (!pairs_.empty()) common.value().pairs = &plan->pairs;
  Result<std::vector<SimOptions>> runs = read_runs(common.value());
  if (!runs.ok()) return runs.error();
  plan->runs = std::move(runs).value();
  Result<Trace> trace = trace_.empty() ? generate_trace(builtin_workload(seed_), plan->profiles)
                                       : load_trace(trace_, trace_options_, plan->profiles);
  if (!trace.ok()) return trace.error();
  plan->trace = std::move(trace).value();
  if (trace_.empty()) plan->trace.source = "built-in";
  for (const std::string& note : plan->trace.notes) notes << "note: " << note << '\n';
  if (const MaybeError refusal = check_trace(*plan)) return *refusal;
  if (!window_.empty()) {
    const Result<Window> window = parse_window(window_, plan->trace.jobs.size());
    if (!window.ok()) return window.error();
    plan->window = window.value();
  }
  if (const MaybeError refusal = read_tenants_option(plan->trace, plan->topology, plan->tenants)) {
    return *refusal;
  }
  if (plan->tenants) {
    for (SimOptions& options : plan->runs) options.tenants = &*plan->tenants;
  }
  return plan;
}

RunLabel SimRequest::label(const SimPlan& plan, const SimOptions& options) const {
  RunLabel label;
  const bool whole = options.whole.index() != 0;
  label.scheduler = options.scheduler;
  label.policy = whole ? options.scheduler : options.parts.policy;
  label.mechanism = options.parts.mechanism;
  label.placement = whole ? options.scheduler : options.parts.placement;
  label.estimates = options.estimates.text();
  label.trace = plan.trace.source;
  label.cluster = cluster_;
  label.compat = compat_;
  if (options.failures.any() && !traits_of(options.compat).ideal_machine) {
    label.retry = options.retry.text();
  }
  if (plan.tenants) {
    label.tenants =
        fmt::format("{}, shared by {}", plan.tenants->size(), name_of(plan.tenants->sharing()));
    label.quotas = quotas_of(*plan.tenants);
  }
  label.round = options.round;
  label.seed = options.seed;
  return label;
}

std::string SimRequest::name(const SimOptions& options) const {
  std::string name = options.scheduler;
  if (options.whole.index() == 0) {
    name += fmt::format("{}{}+{}+{}", name.empty() ? "" : "-", options.parts.policy,
                        options.parts.mechanism, options.parts.placement);
  }
  if (estimates_.find(',') != std::string::npos) name += "+" + options.estimates.text();
  return name;
}

}  // namespace muster
