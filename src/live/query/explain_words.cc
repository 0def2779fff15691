#include "live/query/explain_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/text.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kFew = 3;
constexpr Duration kMoment = Duration::seconds(5);
constexpr std::size_t kLine = 105;  // Of a sentence, so that it is one line with "job 123456 ".
constexpr std::size_t kNameRoom = 24;

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

// A user's own name for something, of any length, within a sentence.
std::string clipped(const std::string& name) {
  if (name.size() <= kNameRoom) return name;
  std::size_t end = kNameRoom - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80)
    --end;  // Not in UTF-8.
  return name.substr(0, end) + "…";
}

}  // namespace

std::string gpu_count(std::int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

json band_json(const Picture& picture, const Band& band, const LiveClock& clock, const char* verb) {
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

LiveId Words::live(JobId job) const {
  return job.index() < picture_.live_of.size() ? picture_.live_of[job.index()] : 0;
}

std::string Words::name(JobId job) const {
  const Job& row = picture_.engine.state().jobs[job];
  const std::string& user = user_of(row.spec.user);
  const std::string whose = may_know(user) ? user + ", " : "";
  return fmt::format("job {} ({}{})", live(job), whose, gpu_count(row.spec.gpus));
}

std::string Words::names(const std::vector<JobId>& jobs) const {
  std::string text;
  for (std::size_t i = 0; i < jobs.size() && i < kFew; ++i) {
    text += (i == 0 ? "" : i + 1 == jobs.size() ? " and " : ", ") + name(jobs[i]);
  }
  if (jobs.size() > kFew) text += fmt::format(" and {} more", jobs.size() - kFew);
  return text;
}

std::string Words::sentence(const Why& why) const {
  const std::string first = what_stops_it(why);
  std::string ahead;
  if (why.ahead > 0) {
    ahead = fmt::format("; {} job{} {} before it", why.ahead, why.ahead == 1 ? "" : "s",
                        why.ahead == 1 ? "starts" : "start");
  } else if (why.passing > 0) {
    ahead = fmt::format("; {} job{} behind it can start sooner", why.passing,
                        why.passing == 1 ? "" : "s");
  }
  const bool more = why.constraint >= Constraint::kOrder;
  return more && first.size() + ahead.size() <= kLine ? first + ahead : first;
}

std::string Words::what_stops_it(const Why& why) const {
  const FreeGpus& gpus = why.gpus;
  std::string needs =
      fmt::format("it needs {}, {} of {} {} free", why.needs, gpus.free, gpus.all, are(gpus.free));
  if (gpus.kept > 0) needs += fmt::format(", {} kept for {}", gpus.kept, name(gpus.kept_for));
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
             (why.ahead == 0 && why.passing == 0 ? ", and those that run come before it" : "");
    case Constraint::kServers:
      return closed_servers();
    case Constraint::kOthers:
      return fmt::format("waits: others hold {} on {} server{}; {}", gpu_count(gpus.others),
                         gpus.others_nodes, gpus.others_nodes == 1 ? "" : "s", needs);
    case Constraint::kQuota:
      return "waits for its tenant's share" + quota();
    case Constraint::kMemory:
    case Constraint::kCpus:
      return beside(why);
    case Constraint::kPlaces:
      return fmt::format(
          "waits for GPUs together: it needs {}, {} are free but {} on one server", why.needs,
          gpus.unheld(),
          gpus.most_on_one == 0 ? "none" : fmt::format("at most {}", gpus.most_on_one));
    case Constraint::kGpus:
      return "waits for GPUs: " + needs;
  }
  return "";
}

std::string Words::stops(const std::vector<JobId>& jobs) const {
  if (jobs.empty()) return "";
  return fmt::format(", once {} {} been stopped for it", names(jobs),
                     jobs.size() == 1 ? "has" : "have");
}

json Words::way(const WayOut& way) const {
  json told = way_alone(way);
  if (way.begun.stops.empty()) return told;
  told["says"] = told["says"].get<std::string>() + stops(way.begun.stops);
  for (const JobId job : way.begun.stops) told["stops"].push_back(live(job));
  return told;
}

// Some plan at set times only, and whoever has just started is safe for a while.
std::string Words::soon(const WayOut& way) const {
  const bool now = way.begun.at - picture_.now < Duration::seconds(10);
  return now ? "now" : in_about(picture_, way.begun.at);
}

// With another request: what to resubmit with, and the rest of the sentence.
json Words::resubmitted(const WayOut& way) const {
  const auto told = [&](const char* kind, const char* key, json value, const std::string& with,
                        const char* more = "") {
    return json{{"kind", kind},
                {key, std::move(value)},
                {"says", "resubmitted " + with + " it would start " + soon(way) + more}};
  };
  switch (way.kind) {
    case WayOut::Kind::kFewerGpus:
      return told("fewer-gpus", "gpus", way.gpus, "with " + gpu_count(way.gpus));
    case WayOut::Kind::kLessMemory: {
      const double gib = static_cast<double>(way.amount) / 1024;
      return told("less-memory", "mem_gib", gib, fmt::format("with {:.4g} GiB of memory", gib));
    }
    case WayOut::Kind::kFewerCpus: {
      const double cpus = static_cast<double>(way.amount) / 1000;
      return told("fewer-cpus", "cpus", cpus, fmt::format("with {:.4g} CPUs", cpus));
    }
    case WayOut::Kind::kWiderSpread:
      return told("wider-spread", "spread", way.amount,
                  fmt::format("on up to {} servers", way.amount));
    case WayOut::Kind::kHigherPriority:
      return told("higher-priority", "priority", way.amount,
                  fmt::format("with --priority {}", way.amount), ", before your other jobs");
    case WayOut::Kind::kOtherTenant: {
      const std::string tenant = (*picture_.rules.planner.chain.tenants)[way.tenant].name;
      return told("other-tenant", "tenant", tenant, "for tenant " + tenant);
    }
    case WayOut::Kind::kShorter:
      return told("shorter", "estimate_s", way.estimate.in_seconds(),
                  "with --estimate " + short_duration(way.estimate));
    case WayOut::Kind::kAfterEnds:
    case WayOut::Kind::kMove:
      break;
  }
  return {};
}

json Words::way_alone(const WayOut& way) const {
  if (way.kind == WayOut::Kind::kAfterEnds) {
    json ids = json::array();
    for (const JobId job : way.jobs) ids.push_back(live(job));
    return {{"kind", "after-ends"},
            {"jobs", ids},
            {"when", time_json(reader_.clock, way.when)},
            {"says",
             // Without a time: that of the band is the one to go by.
             fmt::format("starts when {} {} ended", names(way.jobs),
                         way.jobs.size() == 1 ? "has" : "have")}};
  }
  if (way.kind == WayOut::Kind::kMove) {
    return {{"kind", "move"},
            {"job", live(way.jobs.front())},
            {"gpu_s", way.gpu_time.in_seconds()},
            {"says", fmt::format("starts if {} moves: its owner or an operator holds and then "
                                 "releases it; costs about {} of GPU time",
                                 name(way.jobs.front()), about(way.gpu_time))}};
  }
  return resubmitted(way);
}

json Words::facts(const Why& why) const {
  const FreeGpus& gpus = why.gpus;
  json facts = {{"needs", why.needs},    {"free", gpus.free},
                {"gpus", gpus.all},      {"most_on_one", gpus.most_on_one},
                {"ahead", why.ahead},    {"ahead_gpus", why.ahead_gpus},
                {"passing", why.passing}};
  if (gpus.kept > 0) {
    facts["kept"] = gpus.kept;
    facts["kept_for"] = live(gpus.kept_for);
  }
  if (gpus.most_on_one > 0) facts["best_node"] = topology().node(gpus.best).name;
  if (gpus.closed > 0) facts["closed"] = gpus.closed;
  if (gpus.others > 0) facts["others"] = gpus.others;
  for (const NodeId node : closed_nodes()) {
    facts["servers"].push_back({{"name", topology().node(node).name},
                                {"says", fmt::format("{} ({}) is {}", topology().node(node).name,
                                                     gpu_count(topology().node(node).capacity.gpus),
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

const std::string& Words::user_of(UserId user) const {
  static const std::string kNobody;
  return user.index() < picture_.users.size() ? picture_.users[user.index()] : kNobody;
}

bool Words::may_know(const std::string& user) const {
  return !user.empty() && (reader_.caller.is_operator || reader_.caller.user == user);
}

std::vector<NodeId> Words::closed_nodes() const {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < topology().node_count(); ++i) {
    if (picture_.engine.state().closed[NodeId(i)] != 0) nodes.emplace_back(i);
  }
  return nodes;
}

// Of one reason all of it, of several no more than what sort each is.
std::string Words::closed_servers() const {
  const std::vector<NodeId> nodes = closed_nodes();
  const std::string& first = picture_.closed_why[nodes.front().index()];
  const bool alike = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return picture_.closed_why[node.index()] == first;
  });
  const std::size_t colon = first.find(": ");
  const bool told = alike && colon != std::string::npos;
  if (told && first.starts_with("unusable") && nodes.size() == topology().node_count()) {
    return "waits: no server can be used" + first.substr(colon);
  }
  std::string text = "waits for servers: ";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string& why = picture_.closed_why[nodes[i].index()];
    const std::string next = fmt::format(
        "{}{} ({}) {}", i == 0 ? "" : ", ", clipped(topology().node(nodes[i]).name),
        gpu_count(topology().node(nodes[i]).capacity.gpus), why.substr(0, why.find(':')));
    if (i > 0 && text.size() + next.size() > kLine - 10) {
      text += fmt::format(" and {} more", nodes.size() - i);
      break;
    }
    text += next;
  }
  return told ? text + first.substr(colon) : text;
}

std::string Words::beside(const Why& why) const {
  const bool mem = why.constraint == Constraint::kMemory;
  const auto words = [mem](std::int64_t amount) {
    return mem ? fmt::format("{:.4g} GiB", static_cast<double>(amount) / 1024)
               : fmt::format("{:.4g} CPUs", static_cast<double>(amount) / 1000);
  };
  const Cluster& cluster = *picture_.engine.state().cluster;
  const Resources asked = at_least(cluster.fair(why.gpus.best), spec().least) * spec().gpus;
  return fmt::format("waits for {}: it needs {} with {}; one server has at most {} free",
                     mem ? "memory" : "CPUs", words(mem ? asked.mem_mib : asked.cpu_milli),
                     gpu_count(spec().gpus), words(mem ? why.most_mem_mib : why.most_cpu_milli));
}

std::string Words::quota() const {
  const TenantTree* tenants = picture_.rules.planner.chain.tenants;
  if (tenants == nullptr) return "";
  std::int64_t held = 0;
  for (const JobId job : picture_.engine.state().placed) {
    const Job& row = picture_.engine.state().jobs[job];
    if (row.spec.tenant == spec().tenant) held += picture_.engine.lease(job).total.gpus;
  }
  const Tenant& tenant = (*tenants)[spec().tenant];
  return fmt::format(": {} has {} and uses {}; this job needs {}", clipped(tenant.name),
                     gpu_count(tenant.quota), held, spec().gpus);
}

}  // namespace muster
