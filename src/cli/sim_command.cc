#include "cli/sim_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <ostream>

#include "base/text.h"
#include "cli/sim_options.h"
#include "config/cluster_file.h"
#include "policy/registry.h"
#include "report/files.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/table.h"
#include "sim/simulator.h"
#include "trace/generator.h"
#include "trace/reader.h"

namespace muster {

namespace {

constexpr std::size_t kMostRuns = 1000;
constexpr std::size_t kRejectionsShown = 5;

// The workload used when none is named: more than a proportional cluster of 128 GPUs can digest.
GeneratorOptions builtin_workload(std::uint64_t seed) {
  GeneratorOptions options;
  options.jobs = 3000;
  options.jobs_per_hour = 9;
  options.seed = 41 + seed;
  return options;
}

struct Plan {
  Topology topology;
  ProfileTable profiles;
  Trace trace;
  std::optional<TenantTree> tenants;
  std::optional<Window> window;
  std::vector<SimOptions> runs;
};

Result<Compat> parse_compat(std::string_view text) {
  if (text.empty()) return Compat::kNone;
  if (text == "tiresias") return Compat::kTiresias;
  if (text == "synergy") return Compat::kSynergy;
  constexpr std::array<std::string_view, 2> kNames = {"tiresias", "synergy"};
  return Error{"--compat: unknown simulator " + in_quotes(text) + suggestion(text, kNames)};
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
    return fail("FIRST is not below LAST");
  }
  if (static_cast<std::size_t>(last.value()) > jobs) {
    return fail(fmt::format("the trace has {} jobs", jobs));
  }
  return Window{static_cast<std::size_t>(first.value()), static_cast<std::size_t>(last.value())};
}

// A policy that swaps jobs at every tick must leave them time to do something in between.
Refusal check_swaps(const SimOptions& options) {
  const auto policy = find_entry(policies(), "policy", options.parts.policy).value()->make({});
  if (!policy->traits().drifts || options.compat != Compat::kNone) return std::nullopt;
  const Duration tick = options.round > Duration() ? options.round : EngineOptions().quantum;
  const Duration cost =
      options.overheads.checkpoint + options.overheads.restart + options.overheads.migration;
  if (cost < tick) return std::nullopt;
  return Error{fmt::format(
      "--round: {} may stop and start jobs every {}, which takes {}: they would never get on; use "
      "longer rounds or smaller costs",
      options.parts.policy, short_duration(tick), short_duration(cost))};
}

RunLabel label_of(const SimOptions& options, const Plan& plan, const std::string& cluster,
                  const std::string& compat) {
  RunLabel label;
  label.policy = options.philly ? "philly" : options.parts.policy;
  label.mechanism = options.parts.mechanism;
  label.placement = options.parts.placement;
  label.estimates = options.estimates.text();
  label.trace = plan.trace.source;
  label.cluster = cluster;
  label.compat = compat;
  if (options.failures.any() && options.compat == Compat::kNone) label.retry = options.retry.text();
  if (plan.tenants) {
    label.tenants =
        fmt::format("{}, shared by {}", plan.tenants->size(), name_of(plan.tenants->sharing()));
  }
  label.round = options.round;
  label.seed = options.seed;
  return label;
}

Duration since(std::chrono::steady_clock::time_point begin) {
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  return Duration::micros(std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
}

// Each job once, also when several runs reject it.
void name_rejected(const SimResult& result, const Trace& trace, std::vector<bool>& named,
                   std::ostream& err) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    if (result.jobs[i].fate != Fate::kRejected || named[i]) continue;
    named[i] = true;
    if (count++ < kRejectionsShown) {
      err << fmt::format("note: job {} can never run: {}\n", in_quotes(trace.jobs[i].id),
                         result.jobs[i].why_rejected);
    }
  }
  if (count > kRejectionsShown) {
    err << fmt::format("note: and {} more jobs that can never run\n", count - kRejectionsShown);
  }
}

}  // namespace

void SimCommand::add_to(CLI::App& app) {
  command_ = app.add_subcommand("sim", "replay a workload under one scheduler or several");
  command_->add_option("--trace", trace_, "workload file (default: a built-in one)");
  command_->add_option("--format", format_, "its format (default: detected)");
  command_
      ->add_option("--cluster", cluster_, "file, or SERVERSxGPUS[,cpus=,mem=,storage=,racks=,gpu=]")
      ->capture_default_str();
  command_->add_option("--scheduler", scheduler_,
                       "as its paper has it: philly, tiresias, synergy (instead of parts)");
  command_->add_option("--policy", policy_, "who is next; a list compares: fifo,srtf")
      ->capture_default_str();
  command_->add_option("--mechanism", mechanism_, "how much CPU and memory; may be a list")
      ->capture_default_str();
  command_->add_option(
      "--placement", placement_,
      "where; may be a list (default: consolidate; with --compat: count or first-fit)");
  command_->add_option("--queues", queues_,
                       "of mlfq-*: GPU time at which a job leaves each but the last (3250s,7200s)");
  command_->add_flag("--queues-by-time", queues_by_time_, "of mlfq-*: plain time, not GPU time");
  command_->add_option(
      "--promote", promote_,
      "of mlfq-*: back to the first queue after waiting so many times what it ran");
  command_->add_option("--service", service_,
                       "of *gittins: GPU-seconds of earlier jobs, one a line (default: learnt)");
  command_->add_option("--gittins-quantum", gittins_quantum_, "of gittins (default: 3250s)");
  command_->add_option("--round", round_, "plan every so often (default: at every event)");
  command_
      ->add_option("--estimates", estimates_,
                   "run times believed: oracle, noisy:SIGMA, user, history; may be a list")
      ->capture_default_str();
  command_->add_option("--profiles", profiles_, "models' speeds (default: the built-in zoo)");
  command_->add_option("--checkpoint-cost", checkpoint_, "GPU time lost when stopped")
      ->capture_default_str();
  command_->add_option("--restart-cost", restart_, "and when started again")->capture_default_str();
  command_->add_option("--migration-cost", migration_, "and on top when moved")
      ->capture_default_str();
  command_
      ->add_option("--checkpoint-interval", checkpoint_interval_,
                   "how often a running job saves its work")
      ->capture_default_str();
  command_->add_option("--min-run", min_run_,
                       "nobody is stopped for another sooner (default: a checkpoint interval)");
  command_->add_option("--tenants", tenants_,
                       "quotas: file, a=64,b=32[,share=weight][,reclaim=0.9], or infer");
  command_->add_option("--spread", spread_,
                       "on: gangs over several servers are slower (default: with --scheduler)");
  command_
      ->add_option("--acquire-timeout", acquire_, "of philly: wait so long for servers asked for")
      ->capture_default_str();
  command_->add_option("--back-off", back_off_, "of philly: then give up for so long")
      ->capture_default_str();
  command_
      ->add_option("--relax-after", relax_after_,
                   "of philly: tries before less locality will do, or never")
      ->capture_default_str();
  command_->add_option("--failures", failures_,
                       "attempts fail: on as in Philly's table, or so many times as often (0.5)");
  command_->add_option("--retry", retry_, "failed jobs: none, fixed:N or adaptive")
      ->capture_default_str();
  command_->add_flag("--pre-run", pre_run_, "try multi-GPU jobs on one GPU of a pool first");
  command_->add_option("--server-mtbf", server_mtbf_,
                       "servers fail so often on average, and return");
  command_->add_option("--server-repair", server_repair_, "after so long on average")
      ->capture_default_str();
  command_->add_option("--compat", compat_, "imitate another simulator: tiresias or synergy");
  command_->add_option("--window", window_,
                       "statistics over jobs FIRST:LAST in arrival order only");
  command_->add_option("--seed", seed_, "of everything random")
      ->check(refuse_seed)
      ->capture_default_str();
  command_->add_option("--out", out_, "write jobs.csv, timeline.csv, summary.json and GPU tracks");
  command_->add_flag("--json", json_, "print numbers for programs");
  command_->footer(
      "Example: two policies, with and without tuning CPU and memory, on 128 GPUs:\n"
      "  muster sim --cluster 16x8 --policy fifo,srtf --mechanism proportional,tune --round 300s");
}

int SimCommand::run(Streams streams) {
  // An unset variable in a script must not quietly mean something else.
  for (const char* option :
       {"--trace", "--format", "--out", "--profiles", "--cluster", "--tenants"}) {
    const CLI::Option* given = command_->get_option(option);
    if (given->count() > 0 && given->as<std::string>().empty()) {
      return complain(streams, std::string(option) + ": empty");
    }
  }
  if (trace_.empty() && !format_.empty()) {
    return complain(streams, "--format: of what? give --trace too");
  }
  if (std::error_code ignored; !out_.empty() && std::filesystem::exists(out_, ignored) &&
                               !std::filesystem::is_directory(out_, ignored)) {
    return complain(streams, "--out " + in_quotes(out_) + ": not a directory");
  }
  Plan plan;
  {
    Result<ClusterFile> cluster = read_cluster_file(cluster_);
    if (!cluster.ok()) return complain(streams, cluster.error().message);
    plan.topology = std::move(cluster.value().topology);
    plan.tenants = std::move(cluster.value().tenants);
  }
  {
    Result<ProfileTable> profiles = load_profiles(profiles_, streams);
    if (!profiles.ok()) return complain(streams, profiles.error().message);
    plan.profiles = std::move(profiles).value();
  }
  const Result<Compat> compat = parse_compat(compat_);
  if (!compat.ok()) return complain(streams, compat.error().message);

  SimOptions common;
  if (const Refusal refusal = apply_preset(common)) return complain(streams, refusal->message);
  if (const Refusal refusal = read_failures(common)) return complain(streams, refusal->message);
  common.compat = compat.value();
  common.seed = seed_;
  common.history = !out_.empty();
  const std::array<std::tuple<const char*, const std::string*, Duration*>, 6> durations = {{
      {"--round", &round_, &common.round},
      {"--checkpoint-cost", &checkpoint_, &common.overheads.checkpoint},
      {"--restart-cost", &restart_, &common.overheads.restart},
      {"--migration-cost", &migration_, &common.overheads.migration},
      {"--checkpoint-interval", &checkpoint_interval_, &common.checkpoint_interval},
      {"--min-run", &min_run_, &common.min_run},
  }};
  for (const auto& [option, text, target] : durations) {
    if (text->empty()) continue;
    const Result<Duration> duration = parse_option(option, *text);
    if (!duration.ok()) return complain(streams, duration.error().message);
    *target = duration.value();
  }
  if (min_run_.empty()) common.min_run = common.checkpoint_interval;
  if (!round_.empty() && common.round == Duration()) {
    return complain(streams, "--round: zero; leave it out to plan at every event");
  }
  if (common.compat == Compat::kSynergy && round_.empty()) common.round = Duration::seconds(300);
  std::string placement = placement_;
  if (placement.empty()) {
    placement = common.compat == Compat::kTiresias  ? "count"
                : common.compat == Compat::kSynergy ? "first-fit"
                                                    : "consolidate";
  }
  const Result<PolicyOptions> policy_options = read_policy_options(common.compat);
  if (!policy_options.ok()) return complain(streams, policy_options.error().message);
  for (const std::string_view policy : words_of(policy_)) {
    for (const std::string_view mechanism : words_of(mechanism_)) {
      for (const std::string_view place : words_of(placement)) {
        for (const std::string_view estimates : words_of(estimates_)) {
          SimOptions options = common;
          options.parts = {std::string(policy), std::string(mechanism), std::string(place)};
          options.policy = policy_options.value();
          if (const Refusal refusal = check_parts(options.parts)) {
            return complain(streams, refusal->message);
          }
          const Result<EstimateSource> source = parse_estimate_source(estimates);
          if (!source.ok()) return complain(streams, source.error().message);
          options.estimates = source.value();
          if (const Refusal refusal = check_swaps(options)) {
            return complain(streams, refusal->message);
          }
          plan.runs.push_back(options);
          if (plan.runs.size() > kMostRuns) {
            return complain(streams, fmt::format("more than {} combinations", kMostRuns));
          }
        }
      }
    }
  }
  Result<Trace> trace = trace_.empty() ? generate_trace(builtin_workload(seed_), plan.profiles)
                                       : read_trace(trace_, format_, plan.profiles);
  if (!trace.ok()) return complain(streams, trace.error().message);
  plan.trace = std::move(trace).value();
  if (trace_.empty()) plan.trace.source = "built-in";
  for (const std::string& note : plan.trace.notes) streams.err << "note: " << note << '\n';
  if (common.compat == Compat::kSynergy) {
    for (const TraceJob& job : plan.trace.jobs) {
      const Profile& profile = plan.profiles[plan.profiles.find(plan.trace.models[job.model])];
      if (job.iterations == 0 || profile.iteration_seconds() <= common.round.in_seconds()) continue;
      return complain(streams, fmt::format("--round: {} s is shorter than one iteration of '{}' "
                                           "({} s), and --compat synergy credits whole ones",
                                           common.round.in_seconds(), profile.name(),
                                           profile.iteration_seconds()));
    }
  }
  const bool user_estimates =
      std::any_of(plan.runs.begin(), plan.runs.end(), [](const SimOptions& options) {
        return options.estimates.kind == EstimateSource::Kind::kUser;
      });
  if (user_estimates &&
      std::none_of(plan.trace.jobs.begin(), plan.trace.jobs.end(),
                   [](const TraceJob& job) { return job.user_estimate > Duration(); })) {
    return complain(streams, "--estimates user: no job of " + in_quotes(plan.trace.source) +
                                 " has an estimate (column estimate_s)");
  }
  if (!window_.empty()) {
    const Result<Window> window = parse_window(window_, plan.trace.jobs.size());
    if (!window.ok()) return complain(streams, window.error().message);
    plan.window = window.value();
  }

  if (const Refusal refusal = read_tenants_option(plan.trace, plan.topology, plan.tenants)) {
    return complain(streams, refusal->message);
  }
  if (plan.tenants) {
    for (SimOptions& options : plan.runs) options.tenants = &*plan.tenants;
  }

  catch_interrupts();
  std::vector<RunRow> rows;
  std::vector<bool> named(plan.trace.jobs.size());
  for (SimOptions& options : plan.runs) {
    std::string name = options.philly
                           ? "philly"
                           : fmt::format("{}+{}+{}", options.parts.policy, options.parts.mechanism,
                                         options.parts.placement);
    if (estimates_.find(',') != std::string::npos) name += "+" + options.estimates.text();
    ProgressBar bar(name);
    options.progress = [&bar](std::size_t done, std::size_t total) {
      bar.update(done, total);
      return !interrupted();
    };
    const auto begin = std::chrono::steady_clock::now();
    const SimResult result = simulate(plan.trace, plan.topology, plan.profiles, options);
    bar.finish();
    Summary summary = summarize(result, plan.topology, plan.window);
    summary.wall = since(begin);
    const RunLabel label = label_of(options, plan, cluster_, compat_);
    name_rejected(result, plan.trace, named, streams.err);
    if (!out_.empty()) {
      const std::string dir = plan.runs.size() == 1 ? out_ : out_ + "/" + name;
      const Refusal refusal = write_run(dir, result, summary, label, plan.trace, plan.topology);
      if (refusal) {
        complain(streams, refusal->message);
        return kExitFailed;
      }
    }
    rows.push_back({label, summary});
    if (result.partial) break;
  }
  if (json_) {
    streams.out << (plan.runs.size() == 1 ? summary_json(rows[0].summary, rows[0].label)
                                          : summaries_json(rows));
  } else if (plan.runs.size() == 1) {
    streams.out << summary_text(rows[0].summary, rows[0].label);
    if (common.failures.any()) {
      streams.out << '\n' << failure_table(rows[0].summary.failures, ink_for(1));
    }
    if (plan.tenants) streams.out << '\n' << waiting_table(rows[0].summary.waiting, ink_for(1));
  } else {
    streams.out << comparison_table(rows, ink_for(1))
                << "gain: mean JCT of the first row of the same policy over this row's\n";
  }
  if (!out_.empty()) streams.err << "note: written to " << out_ << '\n';
  return interrupted() ? kExitInterrupted : kExitDone;
}

}  // namespace muster
