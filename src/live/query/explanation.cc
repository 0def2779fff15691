#include "live/query/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "live/query/explanation_text.h"
#include "live/views/views.h"

namespace muster {

namespace {

using nlohmann::json;

// Time for lookahead simulations after the first two.
constexpr std::chrono::milliseconds kPatience(110);

std::vector<TenantId> all_tenants(const TenantTree* tenants) {
  std::vector<TenantId> all;
  for (std::size_t i = 0; tenants != nullptr && i < tenants->size(); ++i) {
    if (tenants->leaf(TenantId(i))) all.emplace_back(i);
  }
  return all;
}

std::string where(const EngineSnapshot& snapshot, const Placement& placement) {
  std::string text;
  for (const Share& share : placement) {
    text += (text.empty() ? "" : ", ") + snapshot.rules.cluster->topology().node(share.node).name;
  }
  return text;
}

// The end of a back-off is known exactly, so no time of the band is earlier.
void not_before(Instant earliest, Band& band) {
  for (Instant* end : {&band.soonest, &band.likely, &band.latest}) *end = std::max(*end, earliest);
}

}  // namespace

Band told_band(const EngineSnapshot& snapshot, JobId job, const ForecastBounds& bounds) {
  Band band = band_of(bounds);
  if (snapshot.engine.state().jobs[job].state == JobState::kBackOff) {
    not_before(snapshot.engine.back_off_until(job), band);
  }
  return band;
}

Band forecast_of(const EngineSnapshot& snapshot, JobId job, const Audience& reader) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  const Clock::time_point until = last + kPatience;
  ForecastOptions options;
  options.nodes = snapshot.nodes;
  // Assume that another simulation takes as long as the last one.
  options.enough = [&](int drives) {
    const Clock::duration took = Clock::now() - std::exchange(last, Clock::now());
    return drives >= 2 && last + took >= until;
  };
  const std::array<JobId, 1> jobs = {job};
  const StartSamples samples =
      sample_starts(snapshot.engine, snapshot.now, jobs, snapshot.guesses, options).at(job);
  return told_band(snapshot, job,
                   reader.correct ? reader.correct(samples) : uncorrected_bounds(samples));
}

json why_json(const EngineSnapshot& snapshot, JobId job, const Audience& reader, Band& band) {
  WhyOptions options;
  options.left = snapshot.guesses.likely_of_all(snapshot.engine, snapshot.now);
  options.tenants = all_tenants(snapshot.rules.planner.chain.tenants);
  const Why why = explain(snapshot.engine, snapshot.now, job, snapshot.rules, options);
  const ExplanationText words(snapshot, job, reader);
  json answer = {{"why", words.sentence(why)},
                 {"constraint", constraint_name(why.constraint)},
                 {"facts", words.facts(why)}};
  json ways = json::array();
  for (const StartOption& way : why.ways) {
    if (words.may_use(way)) ways.push_back(words.way(way));
  }
  answer["ways"] = std::move(ways);
  if (why.constraint == Constraint::kNone) {
    band = {snapshot.now, snapshot.now, snapshot.now};
  } else {
    band = reader.published ? *reader.published : forecast_of(snapshot, job, reader);
    if (why.constraint == Constraint::kNextPlan) not_before(why.until, band);
  }
  answer["eta"] = band_json(snapshot, band, reader.clock);
  if (why.constraint == Constraint::kNodes) words.add_node_opening(band, answer["eta"]);
  return answer;
}

json plan_json(const EngineSnapshot& snapshot, const JobSpec& spec, const Audience& reader) {
  EngineSnapshot hypothetical = snapshot;
  const std::vector<Event> events = {JobSubmitted{spec}};
  const JobId job(hypothetical.engine.state().jobs.size());
  std::vector<JobId> stopped;
  for (const Action& action : hypothetical.engine.step(hypothetical.now, events)) {
    if (action.kind == Action::Kind::kStop) stopped.push_back(action.job);
  }
  const Job& row = hypothetical.engine.state().jobs[job];
  if (row.state == JobState::kRejected) {
    return {{"verdict", "never"}, {"says", hypothetical.engine.why_rejected(job)}};
  }
  if (row.state == JobState::kPlaced) {
    const Lease& lease = hypothetical.engine.lease(job);
    const double cpus = static_cast<double>(lease.total.cpu_milli) / 1'000;
    const double mem = static_cast<double>(lease.total.mem_mib) / 1'024;
    const std::string there = where(hypothetical, lease.placement);
    return {{"verdict", "now"},
            {"says", fmt::format("would start now on {}, with {}, {:.4g} CPU{} and {:.4g} GiB{}",
                                 there, gpu_count(lease.total.gpus), cpus, cpus == 1 ? "" : "s",
                                 mem, ExplanationText(hypothetical, job, reader).stops(stopped))},
            {"where", there},
            {"gpus", lease.total.gpus},
            {"cpus", cpus},
            {"mem_gib", mem}};
  }
  Band band;
  json answer = why_json(hypothetical, job, reader, band);
  answer["verdict"] = "queue";
  answer["eta"] = band_json(hypothetical, band, reader.clock, "would start ");
  answer["says"] = answer["eta"]["says"];
  return answer;
}

}  // namespace muster
