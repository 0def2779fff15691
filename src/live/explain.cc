#include "live/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.h"
#include "live/views.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kPatience(110);  // For drives, after the first two.
constexpr std::size_t kFew = 3;
constexpr Duration kMoment = Duration::seconds(5);
constexpr std::size_t kLine = 105;  // Of a sentence, so that it is one line with "job 123456 ".
constexpr std::size_t kNameRoom = 24;

std::string gpus(std::int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}
std::string are(std::int64_t count) { return count == 1 ? "is" : "are"; }

// "about 12 min"; a guess is not good to the second.
std::string about(Duration duration) {
  const double seconds = duration.in_seconds();
  if (duration < kMoment) return "a moment";
  if (seconds < 90)
    return fmt::format("{:.0f} s", seconds < 20 ? seconds : 10 * std::round(seconds / 10));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 36 * 3'600) return fmt::format("{:.1f} h", seconds / 3'600);
  return fmt::format("{:.1f} days", seconds / 86'400);
}

std::string in_about(const Picture& picture, Instant at) {
  if (at == Instant::never()) return "at no time in sight";
  const Duration wait = std::max(at - picture.now, Duration());
  return (wait < kMoment ? "in " : "in about ") + about(wait);
}

json time_json(const LiveClock& clock, Instant at) {
  if (at == Instant::never()) return nullptr;
  return static_cast<double>(clock.unix_us(at) / 1'000) / 1'000;
}

json band_json(const Picture& picture, const Band& band, const LiveClock& clock,
               const char* verb = "starts ") {
  if (band.soonest == Instant::never()) {
    return {{"says", "no start in sight within 60 days, as things are"},
            {"soonest", nullptr},
            {"likely", nullptr},
            {"latest", nullptr},
            {"holds", 0.8}};
  }
  std::string says = verb + in_about(picture, band.likely);
  if (band.likely == Instant::never()) {
    says = fmt::format("no start in sight (9 of 10 such jobs: later than {})",
                       about(band.soonest - picture.now));
  } else if (band.latest == Instant::never()) {
    says += fmt::format(" (9 of 10 such jobs: later than {})", about(band.soonest - picture.now));
  } else {
    says += fmt::format(" (8 of 10 such jobs: {} to {})", about(band.soonest - picture.now),
                        about(band.latest - picture.now));
  }
  return {{"says", says},
          {"soonest", time_json(clock, band.soonest)},
          {"likely", time_json(clock, band.likely)},
          {"latest", time_json(clock, band.latest)},
          {"holds", 0.8}};
}

// A user's own name for something, of any length, within a sentence.
std::string clipped(const std::string& name) {
  if (name.size() <= kNameRoom) return name;
  std::size_t end = kNameRoom - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80)
    --end;  // Not in UTF-8.
  return name.substr(0, end) + "…";
}

class Words {
 public:
  Words(const Picture& picture, JobId job, const Reader& reader)
      : picture_(picture), job_(job), reader_(reader) {}

  LiveId live(JobId job) const {
    return job.index() < picture_.live_of.size() ? picture_.live_of[job.index()] : 0;
  }

  // "job 12 (alice, 2 GPUs)"; whose it is only to those who may know.
  std::string name(JobId job) const {
    const Job& row = picture_.engine.state().jobs[job];
    const std::string& user = user_of(row.spec.user);
    const std::string whose = may_know(user) ? user + ", " : "";
    return fmt::format("job {} ({}{})", live(job), whose, gpus(row.spec.gpus));
  }

  std::string names(const std::vector<JobId>& jobs) const {
    std::string text;
    for (std::size_t i = 0; i < jobs.size() && i < kFew; ++i) {
      text += (i == 0 ? "" : i + 1 == jobs.size() ? " and " : ", ") + name(jobs[i]);
    }
    if (jobs.size() > kFew) text += fmt::format(" and {} more", jobs.size() - kFew);
    return text;
  }

  // What more there is to say is left out where it would not fit a line; the facts have it.
  std::string sentence(const Why& why) const {
    const std::string first = what_stops_it(why);
    const std::string ahead = why.ahead == 0 ? ""
                                             : fmt::format("; {} job{} {} before it", why.ahead,
                                                           why.ahead == 1 ? "" : "s",
                                                           why.ahead == 1 ? "starts" : "start");
    const bool more = why.constraint >= Constraint::kOrder;
    return more && first.size() + ahead.size() <= kLine ? first + ahead : first;
  }

  std::string what_stops_it(const Why& why) const {
    const std::string needs =
        fmt::format("it needs {}, {} of {} {} free", why.needs, why.free, total(), are(why.free));
    switch (why.constraint) {
      case Constraint::kNone:
        return "starts now";
      case Constraint::kNextPlan:
        return "starts when the scheduler plans next, " + in_about(picture_, why.until);
      case Constraint::kBackOff:
        return (picture_.engine.failures(job_).empty() ? "was lost and is tried again "
                                                       : "failed and is tried again ") +
               in_about(picture_, why.until);
      case Constraint::kReservation:
        return fmt::format("waits: it would fit, but hold up {}",
                           why.first ? name(*why.first) : "a job before it");
      case Constraint::kOrder:
        return "waits its turn: " + needs +
               (why.ahead == 0 ? ", and those that run come before it" : "");
      case Constraint::kServers:
        return "waits for servers: " + closed_servers();
      case Constraint::kQuota:
        return "waits for its tenant's share" + quota();
      case Constraint::kMemory:
      case Constraint::kCpus:
        return beside(why);
      case Constraint::kPlaces:
        return fmt::format(
            "waits for GPUs together: it needs {}, {} are free but {} on one server", why.needs,
            why.free, why.most_on_one == 0 ? "none" : fmt::format("at most {}", why.most_on_one));
      case Constraint::kGpus:
        return "waits for GPUs: " + needs;
    }
    return "";
  }

  json way(const WayOut& way) const {
    switch (way.kind) {
      case WayOut::Kind::kFewerGpus:
        return {{"kind", "fewer-gpus"},
                {"gpus", way.gpus},
                {"says", "submitted anew with " + gpus(way.gpus) + " it would start now"}};
      case WayOut::Kind::kLessMemory: {
        const double gib = static_cast<double>(way.amount) / 1024;
        return {{"kind", "less-memory"},
                {"mem_gib", gib},
                {"says",
                 fmt::format("submitted anew with {:.4g} GiB of memory it would start now", gib)}};
      }
      case WayOut::Kind::kFewerCpus: {
        const double cpus = static_cast<double>(way.amount) / 1000;
        return {{"kind", "fewer-cpus"},
                {"cpus", cpus},
                {"says", fmt::format("submitted anew with {:.4g} CPUs it would start now", cpus)}};
      }
      case WayOut::Kind::kWiderSpread:
        return {{"kind", "wider-spread"},
                {"spread", way.amount},
                {"says",
                 fmt::format("submitted anew on up to {} servers it would start now", way.amount)}};
      case WayOut::Kind::kHigherPriority:
        return {{"kind", "higher-priority"},
                {"priority", way.amount},
                {"says", fmt::format("submitted anew with --priority {} it would start now, before "
                                     "your other jobs",
                                     way.amount)}};
      case WayOut::Kind::kOtherTenant: {
        const std::string tenant = (*picture_.rules.planner.chain.tenants)[way.tenant].name;
        return {{"kind", "other-tenant"},
                {"tenant", tenant},
                {"says", "submitted anew for tenant " + tenant + " it would start now"}};
      }
      case WayOut::Kind::kShorter:
        return {{"kind", "shorter"},
                {"estimate_s", way.estimate.in_seconds()},
                {"says", "submitted anew with --estimate " + short_duration(way.estimate) +
                             " it would start now"}};
      case WayOut::Kind::kAfterEnds: {
        json ids = json::array();
        for (const JobId job : way.jobs) ids.push_back(live(job));
        return {{"kind", "after-ends"},
                {"jobs", ids},
                {"when", time_json(reader_.clock, way.when)},
                {"says",
                 fmt::format("starts when {} {} ended, {}", names(way.jobs),
                             way.jobs.size() == 1 ? "has" : "have", in_about(picture_, way.when))}};
      }
      case WayOut::Kind::kMove:
        return {{"kind", "move"},
                {"job", live(way.jobs.front())},
                {"gpu_s", way.gpu_time.in_seconds()},
                {"says", fmt::format("starts if {} moves: its owner or an operator holds and then "
                                     "releases it; costs about {} of GPU time",
                                     name(way.jobs.front()), about(way.gpu_time))}};
    }
    return {};
  }

  json facts(const Why& why) const {
    json facts = {{"needs", why.needs}, {"free", why.free},
                  {"gpus", total()},    {"most_on_one", why.most_on_one},
                  {"ahead", why.ahead}, {"ahead_gpus", why.ahead_gpus}};
    if (why.most_on_one > 0) facts["best_node"] = topology().node(why.best).name;
    if (why.closed > 0) facts["closed"] = why.closed;
    for (const NodeId node : closed_nodes()) {
      facts["servers"].push_back({{"name", topology().node(node).name},
                                  {"says", fmt::format("{} ({}) is {}", topology().node(node).name,
                                                       gpus(topology().node(node).capacity.gpus),
                                                       picture_.closed_why[node.index()])}});
    }
    if (why.first) facts["next"] = live(*why.first);
    json holders = json::array();
    for (const Holder& holder : why.holders) {
      const std::string& user = user_of(picture_.engine.state().jobs[holder.job].spec.user);
      json each = {{"job", live(holder.job)},
                   {"gpus", holder.gpus},
                   {"until", time_json(reader_.clock, holder.until)},
                   {"says", name(holder.job) + " ends " + in_about(picture_, holder.until)}};
      if (may_know(user)) each["user"] = user;
      holders.push_back(std::move(each));
    }
    facts["holders"] = std::move(holders);
    return facts;
  }

 private:
  const Topology& topology() const { return picture_.rules.cluster->topology(); }
  const JobSpec& spec() const { return picture_.engine.state().jobs[job_].spec; }

  std::int64_t total() const {
    return spec().gpu_type ? topology().gpus_of_type(*spec().gpu_type) : topology().total().gpus;
  }

  const std::string& user_of(UserId user) const {
    static const std::string kNobody;
    return user.index() < picture_.users.size() ? picture_.users[user.index()] : kNobody;
  }

  bool may_know(const std::string& user) const {
    return !user.empty() && (reader_.caller.is_operator || reader_.caller.user == user);
  }

  std::vector<NodeId> closed_nodes() const {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < topology().node_count(); ++i) {
      if (picture_.engine.state().closed[NodeId(i)] != 0) nodes.emplace_back(i);
    }
    return nodes;
  }

  // "n3 (4 GPUs) drained, n4 (4 GPUs) in quarantine and 2 more"; why is among the facts.
  std::string closed_servers() const {
    std::string text;
    const std::vector<NodeId> nodes = closed_nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string& why = picture_.closed_why[nodes[i].index()];
      const std::string next =
          fmt::format("{}{} ({}) {}", i == 0 ? "" : ", ", clipped(topology().node(nodes[i]).name),
                      gpus(topology().node(nodes[i]).capacity.gpus), why.substr(0, why.find(':')));
      if (i > 0 && text.size() + next.size() > kLine - 30) {
        return text + fmt::format(" and {} more", nodes.size() - i);
      }
      text += next;
    }
    return text;
  }

  // "waits for memory: it needs 64 GiB with 2 GPUs; one server has at most 12 GiB free"
  std::string beside(const Why& why) const {
    const bool mem = why.constraint == Constraint::kMemory;
    const auto words = [mem](std::int64_t amount) {
      return mem ? fmt::format("{:.4g} GiB", static_cast<double>(amount) / 1024)
                 : fmt::format("{:.4g} CPUs", static_cast<double>(amount) / 1000);
    };
    const Cluster& cluster = *picture_.engine.state().cluster;
    const Resources asked = at_least(cluster.fair(why.best), spec().least) * spec().gpus;
    return fmt::format("waits for {}: it needs {} with {}; one server has at most {} free",
                       mem ? "memory" : "CPUs", words(mem ? asked.mem_mib : asked.cpu_milli),
                       gpus(spec().gpus), words(mem ? why.most_mem_mib : why.most_cpu_milli));
  }

  std::string quota() const {
    const TenantTree* tenants = picture_.rules.planner.chain.tenants;
    if (tenants == nullptr) return "";
    std::int64_t held = 0;
    for (const JobId job : picture_.engine.state().placed) {
      const Job& row = picture_.engine.state().jobs[job];
      if (row.spec.tenant == spec().tenant) held += picture_.engine.lease(job).total.gpus;
    }
    const Tenant& tenant = (*tenants)[spec().tenant];
    return fmt::format(": {} has {} and uses {}; this job needs {}", clipped(tenant.name),
                       gpus(tenant.quota), held, spec().gpus);
  }

  const Picture& picture_;
  JobId job_;
  const Reader& reader_;
};

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

}  // namespace

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
  forecast.told = errors.corrected(picture.now, forecast.raw);
  if (picture.engine.state().jobs[job].state == JobState::kParked) {  // Not before it is tried.
    const Instant earliest = picture.engine.parked_until(job);
    Band& told = forecast.told;
    for (Instant* end : {&told.soonest, &told.likely, &told.latest})
      *end = std::max(*end, earliest);
  }
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
  }
  answer["eta"] = band_json(picture, forecast.told, reader.clock);
  return answer;
}

json plan_json(const Picture& picture, const JobSpec& spec, const Reader& reader) {
  Picture imagined = picture;
  const std::vector<Event> events = {JobSubmitted{spec}};
  const JobId job(imagined.engine.state().jobs.size());
  imagined.engine.step(imagined.now, events);
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
            {"says", fmt::format("would start now on {}, with {}, {:.4g} CPU{} and {:.4g} GiB",
                                 there, gpus(lease.total.gpus), cpus, cpus == 1 ? "" : "s", mem)},
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
