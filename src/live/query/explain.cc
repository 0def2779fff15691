#include "live/query/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "live/query/explain_words.h"
#include "live/views/views.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kPatience(110);  // For drives, after the first two.

std::vector<TenantId> all_tenants(const TenantTree* tenants) {
  std::vector<TenantId> all;
  for (std::size_t i = 0; tenants != nullptr && i < tenants->size(); ++i) {
    if (tenants->leaf(TenantId(i))) all.emplace_back(i);
  }
  return all;
}

std::string where(const Picture& picture, const Placement& placement) {
  std::string text;
  for (const Share& share : placement) {
    text += (text.empty() ? "" : ", ") + picture.rules.cluster->topology().node(share.node).name;
  }
  return text;
}

// A set time that everybody knows is part of the band.
void not_before(Instant earliest, Band& band) {
  for (Instant* end : {&band.soonest, &band.likely, &band.latest}) *end = std::max(*end, earliest);
}

}  // namespace

Band told_band(const Picture& picture, JobId job, const Band& raw, const Errors& errors) {
  Band band = errors.corrected(picture.now, raw);
  if (picture.engine.state().jobs[job].state == JobState::kParked) {  // Not before it is tried.
    not_before(picture.engine.parked_until(job), band);
  }
  return band;
}

Forecast forecast_of(const Picture& picture, JobId job, const Errors& errors) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  const Clock::time_point until = last + kPatience;
  EtaOptions options;
  // Another would take about as long as the last.
  options.enough = [&] {
    const Clock::duration took = Clock::now() - std::exchange(last, Clock::now());
    return last + took >= until;
  };
  Forecast forecast;
  forecast.raw = raw_eta(picture.engine, picture.now, job, picture.guesses, options).band;
  forecast.told = told_band(picture, job, forecast.raw, errors);
  return forecast;
}

json why_json(const Picture& picture, JobId job, const Reader& reader, Forecast& forecast) {
  WhyOptions options;
  options.left = picture.guesses.likely_of_all(picture.engine, picture.now);
  options.tenants = all_tenants(picture.rules.planner.chain.tenants);
  const Why why = explain(picture.engine, picture.now, job, picture.rules, options);
  const Words words(picture, job, reader);
  json answer = {{"why", words.sentence(why)},
                 {"constraint", constraint_name(why.constraint)},
                 {"facts", words.facts(why)}};
  json ways = json::array();
  for (const WayOut& way : why.ways) ways.push_back(words.way(way));
  answer["ways"] = std::move(ways);
  if (why.constraint == Constraint::kNone) {
    forecast.raw = forecast.told = {picture.now, picture.now, picture.now};
  } else {
    forecast = forecast_of(picture, job, reader.errors);
    if (why.constraint == Constraint::kNextPlan) not_before(why.until, forecast.told);
  }
  answer["eta"] = band_json(picture, forecast.told, reader.clock);
  return answer;
}

json plan_json(const Picture& picture, const JobSpec& spec, const Reader& reader) {
  Picture imagined = picture;
  const std::vector<Event> events = {JobSubmitted{spec}};
  const JobId job(imagined.engine.state().jobs.size());
  std::vector<JobId> stopped;
  for (const Action& action : imagined.engine.step(imagined.now, events)) {
    if (action.kind == Action::Kind::kStop) stopped.push_back(action.job);
  }
  const Job& row = imagined.engine.state().jobs[job];
  if (row.state == JobState::kRejected) {
    return {{"verdict", "never"}, {"says", imagined.engine.why_rejected(job)}};
  }
  if (row.state == JobState::kPlaced) {
    const Lease& lease = imagined.engine.lease(job);
    const double cpus = static_cast<double>(lease.total.cpu_milli) / 1'000;
    const double mem = static_cast<double>(lease.total.mem_mib) / 1'024;
    const std::string there = where(imagined, lease.placement);
    return {{"verdict", "now"},
            {"says", fmt::format("would start now on {}, with {}, {:.4g} CPU{} and {:.4g} GiB{}",
                                 there, gpu_count(lease.total.gpus), cpus, cpus == 1 ? "" : "s",
                                 mem, Words(imagined, job, reader).stops(stopped))},
            {"where", there},
            {"gpus", lease.total.gpus},
            {"cpus", cpus},
            {"mem_gib", mem}};
  }
  Forecast forecast;
  json answer = why_json(imagined, job, reader, forecast);
  answer["verdict"] = "queue";
  answer["eta"] = band_json(imagined, forecast.told, reader.clock, "would start ");
  answer["says"] = answer["eta"]["says"];
  return answer;
}

}  // namespace muster
