// Selects the schedulers that `muster sim` runs: presets, their options, and every requested
// combination of parts.

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text.h"
#include "cli/sim/sim_options.h"
#include "cli/sim/sim_request.h"

namespace muster {

namespace {

constexpr std::size_t kMaxRuns = 1000;
constexpr int kMaxTries = 1'000;
constexpr int kMaxJobsOnGpu = 64;
constexpr int kMaxElasticGpus = 4096;

Result<Duration> parse_positive(std::string_view option, std::string_view text) {
  const Result<Duration> duration = parse_option(option, text);
  if (duration.ok() && duration.value() == Duration())
    return Error{fmt::format("{}: must be positive", option)};
  return duration;
}

Result<std::int32_t> parse_count(std::string_view option, std::string_view text, int most,
                                 std::string_view or_else = "") {
  const Result<std::int64_t> count = parse_int(text);
  if (count.ok() && count.value() >= 1 && count.value() <= most) {
    return static_cast<std::int32_t>(count.value());
  }
  return Error{fmt::format("{}: {}: must be {}a number from 1 to {}", option, in_quotes(text),
                           or_else, most)};
}

// Parses "1-16".
Result<ElasticRange> parse_elastic(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '-');
  if (parts.size() != 2) {
    return Error{"--elastic: " + in_quotes(text) + ": must be MIN-MAX, such as 1-16, or declared"};
  }
  const Result<std::int32_t> fewest = parse_count("--elastic", parts[0], kMaxElasticGpus);
  if (!fewest.ok()) return fewest.error();
  const Result<std::int32_t> most = parse_count("--elastic", parts[1], kMaxElasticGpus);
  if (!most.ok()) return most.error();
  if (fewest.value() > most.value()) {
    return Error{"--elastic: " + in_quotes(text) + ": MIN must not be greater than MAX"};
  }
  return ElasticRange{fewest.value(), most.value()};
}

}  // namespace

Result<PhillyOptions> SimRequest::read_philly() const {
  PhillyOptions philly;
  const Result<Duration> acquire = parse_positive("--acquire-timeout", acquire_);
  if (!acquire.ok()) return acquire.error();
  const Result<Duration> back_off = parse_positive("--back-off", back_off_);
  if (!back_off.ok()) return back_off.error();
  philly.acquire = acquire.value();
  philly.back_off = back_off.value();
  philly.relax_after = 0;
  if (relax_after_ == "never") return philly;
  const Result<std::int32_t> tries =
      parse_count("--relax-after", relax_after_, kMaxTries, "never or ");
  if (!tries.ok()) return tries.error();
  philly.relax_after = tries.value();
  return philly;
}

Result<GandivaOptions> SimRequest::read_gandiva() const {
  GandivaOptions gandiva;
  const Result<Duration> slice = parse_positive("--slice", slice_);
  if (!slice.ok()) return slice.error();
  gandiva.slice = slice.value();
  const Result<std::int32_t> jobs = parse_count("--jobs-per-gpu", jobs_per_gpu_, kMaxJobsOnGpu);
  if (!jobs.ok()) return jobs.error();
  gandiva.most_jobs = jobs.value();
  return gandiva;
}

// Selects a scheduler that is not made of parts. Presets that are made of parts need no action.
MaybeError SimRequest::choose_scheduler(const Preset& preset, SimOptions& options) const {
  if (!preset.policy.empty()) return std::nullopt;
  for (const char* const part : {"--policy", "--mechanism", "--placement"}) {
    if (command_.count(part) == 0) continue;
    return Error{fmt::format("{}: cannot be combined with --scheduler {}, which has no such part",
                             part, preset.name)};
  }
  if (preset.name == "philly") {
    const Result<PhillyOptions> philly = read_philly();
    if (!philly.ok()) return philly.error();
    options.whole = philly.value();
  } else if (preset.name == "gandiva") {
    const Result<GandivaOptions> gandiva = read_gandiva();
    if (!gandiva.ok()) return gandiva.error();
    if (options.overheads.suspend >= gandiva.value().slice) {
      return Error{fmt::format(
          "--suspend-cost: {} must be less than the --slice of {}; otherwise "
          "jobs make no progress",
          short_duration(options.overheads.suspend), short_duration(gandiva.value().slice))};
    }
    options.whole = gandiva.value();
  } else {
    options.whole = OptimusOptions{};
  }
  return std::nullopt;
}

// Returns one run per combination of the requested schedulers, parts and estimates.
Result<std::vector<SimOptions>> SimRequest::read_runs(SimOptions common) const {
  if (spread_ == "on" || (spread_.empty() && !scheduler_.empty() && compat_.empty())) {
    common.spread = true;
  } else if (!spread_.empty() && spread_ != "off") {
    return Error{"--spread: " + in_quotes(spread_) + ": must be on or off"};
  }
  const Result<PolicyOptions> policy_options = read_policy_options(common.compat);
  if (!policy_options.ok()) return policy_options.error();
  common.policy = policy_options.value();
  std::vector<SimOptions> runs;
  if (scheduler_.empty()) {
    const std::string_view placement = traits_of(common.compat).placement;
    const Preset parts = {"", "", "fifo", "proportional", placement, "", ""};
    if (const MaybeError refusal = add_runs(parts, common, runs)) return *refusal;
    return runs;
  }
  for (const std::string_view name : words_of(scheduler_)) {
    const Result<const Preset*> preset = find_preset(name);
    if (!preset.ok()) return Error{"--scheduler: " + preset.error().message};
    if (const MaybeError refusal = add_runs(*preset.value(), common, runs)) return *refusal;
  }
  return runs;
}

MaybeError SimRequest::add_runs(const Preset& preset, SimOptions options,
                                std::vector<SimOptions>& runs) const {
  const auto or_preset = [](const std::string& given, std::string_view preset_text) {
    return given.empty() ? preset_text : std::string_view(given);
  };
  if (const std::string_view round = or_preset(round_, preset.round); !round.empty()) {
    const Result<Duration> duration = parse_option("--round", round);
    if (!duration.ok()) return duration.error();
    if (duration.value() == Duration()) {
      return Error{"--round: must be positive; omit it to plan at every event"};
    }
    options.round = duration.value();
  } else {
    options.round = traits_of(options.compat).round;
  }
  const std::string_view elastic = or_preset(elastic_, preset.elastic);
  if (!elastic.empty() && elastic != "declared") {
    const Result<ElasticRange> range = parse_elastic(elastic);
    if (!range.ok()) return range.error();
    options.elastic = range.value();
  }
  options.scheduler = preset.name;
  if (const MaybeError refusal = choose_scheduler(preset, options)) return refusal;
  // Parts that the scheduler does not use still need valid names.
  const auto words = [&](const std::string& given, std::string_view preset_text,
                         std::string_view none) {
    const std::string_view list = or_preset(given, preset_text);
    return words_of(list.empty() ? none : list);
  };
  for (const std::string_view policy : words(policy_, preset.policy, "fifo")) {
    for (const std::string_view mechanism : words(mechanism_, preset.mechanism, "proportional")) {
      for (const std::string_view place : words(placement_, preset.placement, "consolidate")) {
        for (const std::string_view estimates : words_of(estimates_)) {
          options.parts = {std::string(policy), std::string(mechanism), std::string(place)};
          if (const MaybeError refusal = check_parts(options.parts)) return refusal;
          const Result<EstimateSource> source = parse_estimate_source(estimates);
          if (!source.ok()) return source.error();
          if (source.value().kind == EstimateSource::Kind::kProgress) {
            return Error{
                "--estimates: 'progress' needs progress reports of live jobs, which a trace does "
                "not contain; use 'history', or 'noisy:0.5' for a similar accuracy"};
          }
          options.estimates = source.value();
          if (const MaybeError refusal = check_swaps(options)) {
            return Error{"--round: " + refusal->message};
          }
          runs.push_back(options);
          if (runs.size() > kMaxRuns) {
            return Error{fmt::format("more than {} combinations", kMaxRuns)};
          }
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace muster
