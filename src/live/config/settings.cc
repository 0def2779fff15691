#include "live/config/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>

#include "base/text/text.h"
#include "base/types/check.h"
#include "engine/core/estimator.h"
#include "engine/mechanism/registry.h"
#include "live/config/learned_profiles.h"
#include "workload/input/profiles_file.h"
#include "workload/input/tenants_file.h"

namespace muster {

namespace {

using nlohmann::json;

json node_json(const NodeDescription& node) {
  return {{"name", node.name}, {"rack", node.rack},           {"gpu_type", node.gpu_type},
          {"gpus", node.gpus}, {"cpu_milli", node.cpu_milli}, {"mem_mib", node.mem_mib}};
}

Result<std::string> file_text(const std::string& path) {
  std::error_code none;
  std::ifstream in(path, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(path, none)) {
    return Error{path + ": not a readable file", ErrorCode::kInvalid};
  }
  std::ostringstream text;
  text << in.rdbuf();
  if (text.str().empty()) return Error{path + ": the file is empty", ErrorCode::kInvalid};
  return text.str();
}

// Some parts count CPU and memory over the whole cluster, which does not work with real nodes.
MaybeError refuse_pools(const SchedulerParts& parts) {
  const char* const why =
      " counts CPU and memory over the whole cluster; use it only with 'muster sim'";
  if (parts.mechanism == "opt")
    return Error{"scheduler.mechanism: 'opt'" + std::string(why), ErrorCode::kInvalid};
  if (parts.placement == "count")
    return Error{"scheduler.placement: 'count'" + std::string(why), ErrorCode::kInvalid};
  return std::nullopt;
}

// Reads the plan interval, the estimates and the retry policy. `preset` may be null.
MaybeError read_engine(const json& in, const Preset* preset, RosterSettings& settings) {
  PlannerOptions& planner = settings.planner;
  EngineOptions& engine = settings.engine;
  if (in.contains("round_us")) {
    engine.round = Duration::micros(in.at("round_us").get<std::int64_t>());
  } else if (preset != nullptr && !preset->round.empty()) {
    engine.round = parse_duration(preset->round).value();
  }
  planner.chain.min_run = Duration::micros(in.at("min_run_us").get<std::int64_t>());
  engine.quantum = Duration::micros(in.at("quantum_us").get<std::int64_t>());
  engine.checkpoint_interval =
      Duration::micros(in.at("checkpoint_interval_us").get<std::int64_t>());
  planner.chain.checkpoint_interval = engine.checkpoint_interval;
  const Result<EstimateSource> estimates =
      parse_estimate_source(in.at("estimates").get<std::string>());
  if (!estimates.ok())
    return Error{"scheduler.estimates: " + estimates.error().message, ErrorCode::kInvalid};
  engine.estimates = estimates.value().kind;
  const Result<RetryPolicy> retry = parse_retry_policy(in.at("retry").get<std::string>());
  if (!retry.ok()) return Error{"scheduler.retry: " + retry.error().message, ErrorCode::kInvalid};
  engine.retry = retry.value();
  return std::nullopt;
}

MaybeError read_scheduler(const json& in, RosterSettings& settings) {
  PlannerOptions& planner = settings.planner;
  const std::string preset_name = in.at("preset").get<std::string>();
  const Preset* preset = nullptr;
  if (!preset_name.empty()) {
    const Result<const Preset*> found = find_preset(preset_name);
    if (!found.ok())
      return Error{"scheduler.preset: " + found.error().message, ErrorCode::kInvalid};
    preset = found.value();
    if (preset->name == "gandiva") {
      return Error{"scheduler.preset: " + in_quotes(preset->name) +
                       " shares GPUs between jobs, which the live manager does not support; use it "
                       "only with 'muster sim'",
                   ErrorCode::kInvalid};
    }
    if (preset->name == "philly") planner.whole = PhillyOptions{};
    if (preset->name == "optimus") planner.whole = OptimusOptions{};
  }
  const auto part = [&](const char* key, std::string_view of_preset, std::string& into) {
    const std::string given = in.at(key).get<std::string>();
    if (!given.empty()) {
      into = given;
    } else if (!of_preset.empty()) {
      into = of_preset;
    }
  };
  part("policy", preset != nullptr ? preset->policy : "", planner.parts.policy);
  part("mechanism", preset != nullptr ? preset->mechanism : "", planner.parts.mechanism);
  part("placement", preset != nullptr ? preset->placement : "", planner.parts.placement);
  if (const MaybeError refusal = check_parts(planner.parts)) {
    // check_parts() writes its message for the command line: "--policy: unknown policy 'fifoo'".
    const std::string& said = refusal->message;
    return Error{"scheduler" + (said.starts_with("--") ? "." + said.substr(2) : ": " + said),
                 ErrorCode::kInvalid};
  }
  if (const MaybeError refusal = refuse_pools(planner.parts)) return refusal;
  for (const Entry<Mechanism>& each : mechanisms()) {
    if (each.name != planner.parts.mechanism) continue;
    const Owned<Mechanism> mechanism = each.make();
    settings.uses_profiles = std::holds_alternative<std::monostate>(planner.whole) &&
                             (mechanism->adaptive() || mechanism->depends_on_profile());
  }
  return read_engine(in, preset, settings);
}

// Work is measured in time at the reference share. Estimates made before a job was measured assumed
// the unknown profile's speed at this cluster's share. The scale keeps those estimates valid.
void add_learned(const MeasuredProfile& measured, RosterSettings& settings) {
  const Resources share = settings.topology.node(NodeId(0)).per_gpu();
  const double unknown = settings.profiles[ProfileTable::kUnknown].speed(share);
  Result<Profile> plain = profile_of(measured);
  if (!plain.ok() || settings.profiles.find(measured.name) != ProfileTable::kUnknown) return;
  Result<Profile> scaled = profile_of(measured, unknown / plain.value().speed(share));
  if (scaled.ok()) plain = std::move(scaled);
  MUSTER_CHECK(settings.profiles.add(std::move(plain).value()).ok());
  ++settings.learned;
}

}  // namespace

Result<std::string> settings_text(const ServeFile& file, std::span<const NodeDescription> nodes) {
  const ServeScheduler& scheduler = file.scheduler;
  json out;
  out["nodes"] = json::array();
  for (const NodeDescription& node : nodes) out["nodes"].push_back(node_json(node));
  out["tenants"] = file.tenants ? tenants_yaml(*file.tenants) : "";
  out["profiles"] = "";
  if (!file.profiles.empty()) {
    Result<std::string> profiles = file_text(file.profiles);
    if (!profiles.ok()) return profiles;
    out["profiles"] = std::move(profiles).value();
  }
  json& parts = out["scheduler"];
  parts = {{"preset", scheduler.preset},
           {"policy", scheduler.policy},
           {"mechanism", scheduler.mechanism},
           {"placement", scheduler.placement},
           {"min_run_us", scheduler.min_run.us()},
           {"quantum_us", scheduler.quantum.us()},
           {"checkpoint_interval_us", scheduler.checkpoint_interval.us()},
           {"estimates", scheduler.estimates},
           {"retry", scheduler.retry}};
  if (scheduler.round) parts["round_us"] = scheduler.round->us();
  out["quarantine_us"] = file.quarantine.us();
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<RosterSettings> roster_settings(std::string_view text) {
  RosterSettings settings;
  try {
    const json in = json::parse(text);
    for (const json& node : in.at("nodes")) {
      Resources has;
      has.gpus = node.at("gpus").get<std::int32_t>();
      has.cpu_milli = node.at("cpu_milli").get<std::int64_t>();
      has.mem_mib = node.at("mem_mib").get<std::int64_t>();
      // Muster does not measure or limit storage, so profiles are used at the reference share.
      has.storage_kbps = std::int64_t{62'500} * has.gpus;
      const auto refusal = settings.topology.add_node(node.at("name").get<std::string>(),
                                                      node.at("rack").get<std::string>(),
                                                      node.at("gpu_type").get<std::string>(), has);
      if (refusal) return Error{"nodes: " + refusal->message, ErrorCode::kInvalid};
    }
    if (const std::string yaml = in.at("tenants").get<std::string>(); !yaml.empty()) {
      Result<TenantTree> tenants = parse_tenants(yaml, "tenants");
      if (!tenants.ok()) return tenants.error();
      if (const MaybeError refusal = tenants.value().check(settings.topology.total().gpus)) {
        return *refusal;
      }
      settings.tenants = std::move(tenants).value();
    }
    if (const std::string profiles = in.at("profiles").get<std::string>(); !profiles.empty()) {
      Result<ProfileFile> read = parse_profiles(profiles, "profiles");
      if (!read.ok()) return read.error();
      settings.profiles = std::move(read.value().table);
    } else {
      settings.profiles = builtin_profiles();
    }
    const Result<std::vector<LearnedProfile>> learned = learned_profiles_in(text);
    if (!learned.ok()) return learned.error();
    for (const LearnedProfile& each : learned.value()) add_learned(each.measured, settings);
    if (const MaybeError refusal = read_scheduler(in.at("scheduler"), settings)) return *refusal;
    settings.quarantine = Duration::micros(in.value("quarantine_us", settings.quarantine.us()));
  } catch (const json::exception& error) {
    return Error{std::string("settings: ") + error.what(), ErrorCode::kCorrupt};
  }
  return settings;
}

std::string cluster_words(const Topology& topology) {
  const std::size_t nodes = topology.node_count();
  const std::int32_t gpus = topology.total().gpus;
  return fmt::format("{} node{}, {} GPU{}", nodes, nodes == 1 ? "" : "s", gpus,
                     gpus == 1 ? "" : "s");
}

std::string whole_name(const RosterSettings& settings) {
  if (std::holds_alternative<PhillyOptions>(settings.planner.whole)) return "philly";
  return std::holds_alternative<OptimusOptions>(settings.planner.whole) ? "optimus" : "";
}

std::string scheduler_words(const RosterSettings& settings) {
  const SchedulerParts& parts = settings.planner.parts;
  const std::string whole = whole_name(settings);
  return whole.empty() ? fmt::format("{}, {}, {}", parts.policy, parts.mechanism, parts.placement)
                       : whole;
}

std::vector<NodeCaveats> node_notes(std::span<const NodeDescription> nodes) {
  std::vector<NodeCaveats> notes;
  for (const NodeDescription& node : nodes) {
    notes.push_back({node.gpus_virtual, node.full_isolation, node.words});
  }
  return notes;
}

}  // namespace muster
