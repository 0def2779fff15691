// `muster sim --from-live`: prepares a simulation of a live manager's past. Options that are not
// given default to the manager's settings.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "base/text/dates.h"
#include "base/text/error_text.h"
#include "base/text/text.h"
#include "cli/common/command.h"
#include "cli/live/answer_text.h"
#include "cli/sim/sim_request.h"
#include "live/config/settings.h"
#include "study/past/what_if.h"

namespace muster {

namespace {

constexpr std::int64_t kUnixOf2001 = 978'307'200;

// Parses "7d" (before now) or a date (UTC if it has no time zone). Returns microseconds since 1970.
Result<std::int64_t> parse_since(const std::string& text) {
  if (const Result<Duration> ago = parse_duration(text); ago.ok()) {
    return static_cast<std::int64_t>(now_since_1970() * 1e6) - ago.value().us();
  }
  const bool day = text.size() == std::string_view("2026-11-01").size();
  const Result<Date> date = parse_date(day ? text + "T00:00:00" : text);
  if (date.ok()) return (date.value().seconds + kUnixOf2001) * 1'000'000;
  return Error{"--since: " + in_quotes(text) +
               ": must be a duration such as 7d or a date such as " +
               "2026-11-01 or 2026-11-01T12:00:00"};
}

std::string text_of(Duration duration) { return seconds_text(duration.us()) + "s"; }

}  // namespace

bool SimRequest::since_given() const { return command_.count("--since") > 0; }

std::string SimRequest::asked_otherwise() const {
  constexpr std::array<std::string_view, 6> kNoScheduler = {"--from-live", "--since", "--out",
                                                            "--json",      "--seed",  "--help"};
  std::string words;
  for (const Option option : command_.options()) {
    const std::string name = option.name();
    const bool none =
        std::find(kNoScheduler.begin(), kNoScheduler.end(), name) != kNoScheduler.end();
    if (none || option.count() == 0) continue;
    words += (words.empty() ? "" : " ") + name;
    if (option.takes_value()) words += " " + option.text();
  }
  return words;
}

Result<LivePast> SimRequest::read_live(std::ostream& notes) const {
  if (const MaybeError refusal = refuse_empty()) return *refusal;
  if (from_live_.empty()) return Error{"--since: requires --from-live"};
  for (const char* option : {"--trace", "--format", "--throughputs", "--compat", "--window"}) {
    if (command_.count(option) > 0) {
      return Error{std::string(option) + ": cannot be combined with --from-live"};
    }
  }
  const Result<std::string> database = find_live_database(from_live_);
  if (!database.ok()) return Error{"--from-live: " + full_text(database.error())};
  Result<LivePast> past = read_live_past(database.value());
  if (!past.ok()) return bad_input(past.error());
  if (since_.empty()) return past;
  const Result<std::int64_t> since = parse_since(since_);
  if (!since.ok()) return since.error();
  keep_since(past.value().history, since.value());
  if (past.value().history.jobs.empty()) notes << "note: no job was submitted after --since\n";
  return past;
}

// Sets options that were not given to the manager's settings.
void SimRequest::take_defaults(const RosterSettings& settings) {
  const auto unless_given = [this](const char* option, std::string& value, std::string ours) {
    if (command_.count(option) == 0) value = std::move(ours);
  };
  const bool parts =
      command_.count("--policy") + command_.count("--mechanism") + command_.count("--placement") >
      0;
  if (scheduler_.empty()) {
    if (const std::string whole = whole_name(settings); !whole.empty() && !parts) {
      scheduler_ = whole;
    } else {
      unless_given("--policy", policy_, settings.planner.parts.policy);
      unless_given("--mechanism", mechanism_, settings.planner.parts.mechanism);
      unless_given("--placement", placement_, settings.planner.parts.placement);
    }
    if (settings.engine.round > Duration()) {
      unless_given("--round", round_, text_of(settings.engine.round));
    }
  }
  unless_given("--estimates", estimates_, estimates_of(settings).text());
  unless_given("--min-run", min_run_, text_of(settings.planner.chain.min_run));
  unless_given("--checkpoint-interval", checkpoint_interval_,
               text_of(settings.engine.checkpoint_interval));
  unless_given("--retry", retry_, settings.engine.retry.text());
  unless_given("--spread", spread_, "off");
}

MaybeError SimRequest::read_live_files(const RosterSettings& settings, SimPlan& plan,
                                       std::ostream& notes) const {
  plan.topology = settings.topology;
  plan.tenants = settings.tenants;
  plan.profiles = settings.profiles;
  if (command_.count("--cluster") > 0) {
    Result<ClusterFile> cluster = load_cluster(cluster_, notes);
    if (!cluster.ok()) return cluster.error();
    plan.topology = std::move(cluster.value().topology);
    if (cluster.value().tenants) plan.tenants = std::move(cluster.value().tenants);
  }
  if (!profiles_.empty()) {
    Result<ProfileTable> profiles = load_profiles(profiles_, notes);
    if (!profiles.ok()) return profiles.error();
    plan.profiles = std::move(profiles).value();
  }
  return read_tenants_option(plan.trace, plan.topology, plan.tenants);
}

Result<LivePlan> SimRequest::prepare_live(const LiveHistory& history, std::ostream& notes) {
  const RosterSettings& settings = history.settings;
  take_defaults(settings);
  LivePlan plan;
  plan.workload = as_workload(history);
  if (plan.workload.trace.jobs.empty()) return Error{history.source + ": no job has run yet"};
  if (!pairs_.empty()) return Error{"--pairs: cannot be combined with --from-live"};
  plan.other = std::make_unique<SimPlan>();
  SimPlan& other = *plan.other;
  other.trace = plan.workload.trace;
  if (const MaybeError refusal = read_live_files(settings, other, notes)) return *refusal;
  Result<SimOptions> common = read_common();
  if (!common.ok()) return common.error();
  common.value().quantum = settings.engine.quantum;
  Result<std::vector<SimOptions>> runs = read_runs(common.value());
  if (!runs.ok()) return runs.error();
  other.runs = std::move(runs).value();
  if (const MaybeError refusal = check_trace(other)) return *refusal;
  for (SimOptions& options : other.runs)
    options.tenants = other.tenants ? &*other.tenants : nullptr;

  plan.same = std::make_unique<SimPlan>();
  SimPlan& same = *plan.same;
  same.trace = plan.workload.trace;
  same.topology = settings.topology;
  same.profiles = settings.profiles;
  same.tenants = settings.tenants;
  SimOptions options = own_options(settings, common.value());  // With the requested costs.
  options.spread = other.runs.front().spread;
  options.tenants = same.tenants ? &*same.tenants : nullptr;
  same.runs.push_back(std::move(options));
  return plan;
}

}  // namespace muster
