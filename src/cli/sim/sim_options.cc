// Parses the more complex options of `muster sim`.

#include "cli/sim/sim_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/text.h"
#include "base/types/saturate.h"
#include "cli/sim/sim_request.h"
#include "workload/input/service_file.h"
#include "workload/input/tenants_file.h"

namespace muster {

namespace {

constexpr std::size_t kMaxQueues = 100;
constexpr int kMaxPatience = 1'000'000;
constexpr std::string_view kInfer = "infer";
constexpr std::string_view kHeadroom = "infer,headroom=";

// Parses "infer" and "infer,headroom=1.5".
Result<TenantRules> infer_rules(std::string_view text) {
  TenantRules rules;
  if (text == kInfer) return rules;
  const double most = kMaxHeadroomPermille / 1000.0;
  const Result<double> headroom =
      parse_number(text.starts_with(kHeadroom) ? text.substr(kHeadroom.size()) : "");
  if (!headroom.ok() || headroom.value() < 1 || headroom.value() > most) {
    return Error{fmt::format("{}: expected infer, or infer,headroom=X with X from 1 to {}",
                             in_quotes(text), most)};
  }
  rules.headroom_permille = static_cast<std::int32_t>(std::lround(headroom.value() * 1000));
  return rules;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words = split(list, ',');
  for (std::string_view& word : words) word = trim(word);
  return words;
}

Result<Duration> parse_option(std::string_view option, std::string_view text) {
  const Result<Duration> duration = parse_duration(text);
  if (duration.ok()) return duration;
  return Error{fmt::format("{}: {}", option, duration.error().message)};
}

Result<PolicyOptions> SimRequest::read_policy_options(Compat compat) const {
  PolicyOptions options;
  options.by_time = queues_by_time_;
  if (!queues_.empty()) {
    options.thresholds.clear();
    for (const std::string_view word : words_of(queues_)) {
      const Result<Duration> threshold = parse_option("--queues", word);
      if (!threshold.ok()) return threshold.error();
      if (threshold.value() == Duration()) return Error{"--queues: thresholds must be positive"};
      if (!options.thresholds.empty() && threshold.value() <= options.thresholds.back()) {
        return Error{fmt::format("--queues: thresholds must be ascending: {} after {}",
                                 short_duration(threshold.value()),
                                 short_duration(options.thresholds.back()))};
      }
      options.thresholds.push_back(threshold.value());
    }
    if (options.thresholds.size() > kMaxQueues) {
      return Error{fmt::format("--queues: more than {} thresholds", kMaxQueues)};
    }
  }
  if (!service_.empty()) {
    Result<ServiceDistribution> samples = read_service_samples(service_);
    if (!samples.ok()) return Error{samples.error().message};
    options.service = std::move(samples).value();
  }
  if (!gittins_quantum_.empty()) {
    const Result<Duration> quantum = parse_option("--gittins-quantum", gittins_quantum_);
    if (!quantum.ok()) return quantum.error();
    if (quantum.value() == Duration()) return Error{"--gittins-quantum: must be positive"};
    options.gittins_quantum = quantum.value();
  }
  if (traits_of(compat).ideal_machine) options.promote_permille = 0;
  if (promote_ == "off") {
    options.promote_permille = 0;
  } else if (!promote_.empty()) {
    const Result<double> factor = parse_number(promote_);
    if (!factor.ok() || factor.value() <= 0 || factor.value() > kMaxPatience) {
      return Error{fmt::format("--promote: {}: must be off or a number above 0, at most {}",
                               in_quotes(promote_), kMaxPatience)};
    }
    options.promote_permille = std::max<std::int64_t>(1, std::llround(factor.value() * 1000.0));
  }
  return options;
}

MaybeError SimRequest::read_failures(SimOptions& common) const {
  FailureOptions& failures = common.failures;
  if (failures_ == "on") {
    failures.faults.rate = 1;
  } else if (!failures_.empty() && failures_ != "off") {
    const Result<double> rate = parse_number(failures_);
    if (!rate.ok())
      return Error{"--failures: " + in_quotes(failures_) + ": must be on, off or a number"};
    failures.faults.rate = rate.value();
    if (const MaybeError refusal = check_options(failures.faults)) {
      return Error{"--failures: " + refusal->message};
    }
  }
  const Result<RetryPolicy> retry = parse_retry_policy(retry_);
  if (!retry.ok()) return retry.error();
  common.retry = retry.value();
  failures.pre_run = pre_run_;
  if (!node_mtbf_.empty()) {
    const Result<Duration> mtbf = parse_option("--server-mtbf", node_mtbf_);
    if (!mtbf.ok()) return mtbf.error();
    if (mtbf.value() < Duration::seconds(60)) return Error{"--server-mtbf: must be at least 1m"};
    failures.nodes.mtbf = mtbf.value();
    const Result<Duration> repair = parse_option("--server-repair", node_repair_);
    if (!repair.ok()) return repair.error();
    failures.nodes.repair = repair.value();
  }
  if (failures.pre_run && failures.faults.rate <= 0) {
    return Error{"--pre-run: requires --failures"};
  }
  return std::nullopt;
}

// Sets the tenants from --tenants. Without it, keeps those of the cluster file. Checks them against
// the trace.
MaybeError SimRequest::read_tenants_option(const Trace& trace, const Topology& topology,
                                           std::optional<TenantTree>& tenants) const {
  const std::int32_t gpus = topology.total().gpus;
  if (tenants_ == kInfer || tenants_.starts_with("infer,")) {
    const Result<TenantRules> rules = infer_rules(tenants_);
    if (!rules.ok()) return Error{"--tenants: " + rules.error().message};
    std::vector<TenantDemand> demand;
    for (const TraceJob& job : trace.jobs) {
      demand.push_back(
          {trace.tenants[job.tenant], saturating_multiply(job.duration.us(), job.gpus)});
    }
    Result<TenantTree> inferred = infer_quotas(demand, gpus, rules.value());
    if (!inferred.ok()) return Error{"--tenants infer: " + inferred.error().message};
    tenants = std::move(inferred).value();
  } else if (!tenants_.empty()) {
    Result<TenantTree> read = read_tenants(tenants_);
    if (!read.ok()) return read.error();
    tenants = std::move(read).value();
  }
  if (!tenants) return std::nullopt;
  if (MaybeError refusal = tenants->check(gpus)) return refusal;
  return check_tenants(trace, *tenants);
}

}  // namespace muster
