#include "live/query/explanation_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "api/port/permissions.h"
#include "base/text/text.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t kFew = 3;
constexpr Duration kMoment = Duration::seconds(5);
// Sentence length, so that it fits one line after "job 123456 ".
constexpr std::size_t kLine = 120;
constexpr std::size_t kNameRoom = 24;

std::string are(std::int64_t count) { return count == 1 ? "is" : "are"; }

// "about 12 min": rounded, because a forecast is not exact.
std::string about(Duration duration) {
  const double seconds = duration.in_seconds();
  if (duration < kMoment) return "a moment";
  if (seconds < 90)
    return fmt::format("{:.0f} s", seconds < 20 ? seconds : 10 * std::round(seconds / 10));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 36 * 3'600) return fmt::format("{:.1f} h", seconds / 3'600);
  return fmt::format("{:.1f} days", seconds / 86'400);
}

std::string in_about(const EngineSnapshot& snapshot, Instant at) {
  if (at == Instant::never()) return "at an unknown time";
  const Duration wait = std::max(at - snapshot.now, Duration());
  return (wait < kMoment ? "in " : "in about ") + about(wait);
}

json time_json(const LiveClock& clock, Instant at) {
  if (at == Instant::never()) return nullptr;
  return static_cast<double>(clock.unix_us(at) / 1'000) / 1'000;
}

// Shortens a user-defined name of any length for a sentence.
std::string clipped(const std::string& name) {
  if (name.size() <= kNameRoom) return name;
  std::size_t end = kNameRoom - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80)
    --end;  // Do not cut a UTF-8 sequence.
  return name.substr(0, end) + "…";
}

}  // namespace

std::string gpu_count(std::int64_t count) {
  return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

json band_json(const EngineSnapshot& snapshot, const Band& band, const LiveClock& clock,
               const char* verb) {
  if (band.soonest == Instant::never()) {
    return {{"says", "no predicted start time within 60 days"},
            {"soonest", nullptr},
            {"likely", nullptr},
            {"latest", nullptr},
            {"holds", 0.8}};
  }
  std::string says = verb + in_about(snapshot, band.likely);
  if (band.likely == Instant::never()) {
    says = fmt::format("no predicted start time (90% chance: later than {})",
                       about(band.soonest - snapshot.now));
  } else if (band.latest == Instant::never()) {
    says += fmt::format(" (90% chance: later than {})", about(band.soonest - snapshot.now));
  } else {
    const std::string from = about(band.soonest - snapshot.now);
    const std::string to = about(band.latest - snapshot.now);
    if (from != to) says += fmt::format(" (80% chance: {} to {})", from, to);
  }
  return {{"says", says},
          {"soonest", time_json(clock, band.soonest)},
          {"likely", time_json(clock, band.likely)},
          {"latest", time_json(clock, band.latest)},
          {"holds", 0.8}};
}

LiveId ExplanationText::live(JobId job) const {
  return job.index() < snapshot_.live_of.size() ? snapshot_.live_of[job.index()] : 0;
}

std::string ExplanationText::name(JobId job) const {
  const Job& row = snapshot_.engine.state().jobs[job];
  const std::string& user = user_of(row.spec.user);
  const std::string whose = may_know(row.spec) ? user + ", " : "";
  return fmt::format("job {} ({}{})", live(job), whose, gpu_count(row.spec.gpus));
}

std::string ExplanationText::names(const std::vector<JobId>& jobs) const {
  std::string text;
  for (std::size_t i = 0; i < jobs.size() && i < kFew; ++i) {
    text += (i == 0 ? "" : i + 1 == jobs.size() ? " and " : ", ") + name(jobs[i]);
  }
  if (jobs.size() > kFew) text += fmt::format(" and {} more", jobs.size() - kFew);
  return text;
}

std::string ExplanationText::sentence(const Why& why) const {
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

std::string ExplanationText::what_stops_it(const Why& why) const {
  const FreeGpus& gpus = why.gpus;
  std::string needs =
      fmt::format("it needs {}, {} of {} {} free", why.needs, gpus.free, gpus.all, are(gpus.free));
  if (gpus.kept > 0) needs += fmt::format(", {} reserved for {}", gpus.kept, name(gpus.kept_for));
  switch (why.constraint) {
    case Constraint::kNone:
      return "starts now";
    case Constraint::kNextPlan:
      return "starts at the next plan, " + in_about(snapshot_, why.until);
    case Constraint::kBackOff:
      return (snapshot_.engine.failures(job_).empty() ? "was lost and will be retried "
                                                      : "failed and will be retried ") +
             in_about(snapshot_, why.until);
    case Constraint::kReservation:
      return fmt::format("waits: it fits, but would delay {}",
                         why.first ? name(*why.first) : "an earlier job");
    case Constraint::kOrder:
      return "waits for its turn: " + needs +
             (why.ahead == 0 && why.passing == 0 ? ", and the running jobs rank before it" : "");
    case Constraint::kNodes:
      return unschedulable_nodes_text();
    case Constraint::kOthers:
      return fmt::format("waits: external jobs use {} on {} node{}; {}", gpu_count(gpus.others),
                         gpus.others_nodes, gpus.others_nodes == 1 ? "" : "s", needs);
    case Constraint::kQuota:
      return "waits for its tenant's entitlement" + quota();
    case Constraint::kMemory:
    case Constraint::kCpus:
      return beside(why);
    case Constraint::kPlaces:
      return fmt::format(
          "waits for GPUs together: it needs {}, {} are free but {} on one node", why.needs,
          gpus.unheld(),
          gpus.most_on_one == 0 ? "none" : fmt::format("at most {}", gpus.most_on_one));
    case Constraint::kGpus:
      return "waits for GPUs: " + needs;
  }
  return "";
}

std::string ExplanationText::stops(const std::vector<JobId>& jobs) const {
  if (jobs.empty()) return "";
  return fmt::format(", after {} {} been preempted", names(jobs),
                     jobs.size() == 1 ? "has" : "have");
}

json ExplanationText::way(const StartOption& way) const {
  json told = way_alone(way);
  if (way.begun.stops.empty()) return told;
  told["says"] = told["says"].get<std::string>() + stops(way.begun.stops);
  for (const JobId job : way.begun.stops) told["stops"].push_back(live(job));
  return told;
}

// Some schedulers plan only at fixed times, and a job that has just started cannot be preempted.
std::string ExplanationText::soon(const StartOption& way) const {
  const bool now = way.begun.at - snapshot_.now < Duration::seconds(10);
  return now ? "now" : in_about(snapshot_, way.begun.at);
}

// Describes a changed request: its key and value, and the sentence.
json ExplanationText::resubmitted(const StartOption& way) const {
  const auto told = [&](const char* kind, const char* key, json value, const std::string& with,
                        const char* more = "") {
    return json{{"kind", kind},
                {key, std::move(value)},
                {"says", "if resubmitted " + with + ", it would start " + soon(way) + more}};
  };
  switch (way.kind) {
    case StartOption::Kind::kFewerGpus:
      return told("fewer-gpus", "gpus", way.gpus, "with " + gpu_count(way.gpus));
    case StartOption::Kind::kLessMemory: {
      const double gib = static_cast<double>(way.amount) / 1024;
      return told("less-memory", "mem_gib", gib, fmt::format("with {:.4g} GiB of memory", gib));
    }
    case StartOption::Kind::kFewerCpus: {
      const double cpus = static_cast<double>(way.amount) / 1000;
      return told("fewer-cpus", "cpus", cpus, fmt::format("with {:.4g} CPUs", cpus));
    }
    case StartOption::Kind::kWiderSpread:
      return told("wider-spread", "spread", way.amount,
                  fmt::format("on up to {} nodes", way.amount));
    case StartOption::Kind::kHigherPriority:
      return told("higher-priority", "priority", way.amount,
                  fmt::format("with --priority {}", way.amount), ", before your other jobs");
    case StartOption::Kind::kOtherTenant: {
      const std::string tenant = (*snapshot_.rules.planner.chain.tenants)[way.tenant].name;
      return told("other-tenant", "tenant", tenant, "for tenant " + tenant);
    }
    case StartOption::Kind::kShorter:
      return told("shorter", "estimate_s", way.estimate.in_seconds(),
                  "with --estimate " + short_duration(way.estimate));
    case StartOption::Kind::kAfterEnds:
    case StartOption::Kind::kMove:
      break;
  }
  return {};
}

json ExplanationText::way_alone(const StartOption& way) const {
  if (way.kind == StartOption::Kind::kAfterEnds) {
    json ids = json::array();
    for (const JobId job : way.jobs) ids.push_back(live(job));
    return {{"kind", "after-ends"},
            {"jobs", ids},
            {"when", time_json(reader_.clock, way.when)},
            {"says",
             // Without a time: readers should use the time of the band.
             fmt::format("starts when {} {} ended", names(way.jobs),
                         way.jobs.size() == 1 ? "has" : "have")}};
  }
  if (way.kind == StartOption::Kind::kMove) {
    return {{"kind", "move"},
            {"job", live(way.jobs.front())},
            {"gpu_s", way.gpu_time.in_seconds()},
            {"says", fmt::format("starts if {} moves: its owner or an operator holds and then "
                                 "releases it; costs about {} of GPU time",
                                 name(way.jobs.front()), about(way.gpu_time))}};
  }
  return resubmitted(way);
}

json ExplanationText::facts(const Why& why) const {
  const FreeGpus& gpus = why.gpus;
  json facts = {{"needs", why.needs},    {"free", gpus.free},
                {"gpus", gpus.all},      {"most_on_one", gpus.most_on_one},
                {"ahead", why.ahead},    {"ahead_gpus", why.ahead_gpus},
                {"passing", why.passing}};
  if (gpus.kept > 0) {
    facts["kept"] = gpus.kept;
    facts["kept_for"] = live(gpus.kept_for);
    put_user(facts, "kept_for_user", gpus.kept_for);
  }
  if (gpus.most_on_one > 0) facts["best_node"] = topology().node(gpus.best).name;
  if (gpus.closed > 0) facts["closed"] = gpus.closed;
  if (gpus.others > 0) facts["others"] = gpus.others;
  for (const NodeId node : closed_nodes()) {
    facts["servers"].push_back({{"name", topology().node(node).name},
                                {"says", fmt::format("{} ({}) is {}", topology().node(node).name,
                                                     gpu_count(topology().node(node).capacity.gpus),
                                                     snapshot_.closed_why[node.index()])}});
  }
  if (why.first) {
    facts["next"] = live(*why.first);
    put_user(facts, "next_user", *why.first);
  }
  json holders = json::array();
  for (const Holder& holder : why.holders) {
    json each = {{"job", live(holder.job)},
                 {"gpus", holder.gpus},
                 {"until", time_json(reader_.clock, holder.until)},
                 {"says", name(holder.job) + " ends " + in_about(snapshot_, holder.until)}};
    put_user(each, "user", holder.job);
    holders.push_back(std::move(each));
  }
  facts["holders"] = std::move(holders);
  return facts;
}

const std::string& ExplanationText::user_of(UserId user) const {
  static const std::string kNobody;
  return user.index() < snapshot_.users.size() ? snapshot_.users[user.index()] : kNobody;
}

void ExplanationText::put_user(json& out, const char* key, JobId job) const {
  const JobSpec& spec = snapshot_.engine.state().jobs[job].spec;
  if (may_know(spec)) out[key] = user_of(spec.user);
}

std::string_view ExplanationText::tenant_name(TenantId tenant) const {
  const TenantTree* tenants = snapshot_.rules.planner.chain.tenants;
  return tenants != nullptr ? std::string_view((*tenants)[tenant].name) : kDefaultTenant;
}

// Only the name is shown, so equal names need no comparison of uids.
bool ExplanationText::may_know(const JobSpec& spec) const {
  const std::string& user = user_of(spec.user);
  return !user.empty() && may_name(reader_.caller, {user, kNoUid, tenant_name(spec.tenant)});
}

bool ExplanationText::may_use(const StartOption& way) const {
  if (way.kind == StartOption::Kind::kOtherTenant) {
    return may_submit_to(reader_.caller, tenant_name(way.tenant));
  }
  if (way.kind == StartOption::Kind::kHigherPriority) {
    return way.amount <= priorities_of(reader_.caller, tenant_name(spec().tenant)).high;
  }
  return true;
}

bool ExplanationText::can_use(NodeId node) const {
  return !spec().gpu_type || topology().node(node).gpu_type == *spec().gpu_type;
}

void ExplanationText::add_node_opening(const Band& band, json& eta) const {
  for (const FutureNode& node : snapshot_.nodes) {
    if (!can_use(node.node) || band.likely == Instant::never() || band.likely < node.at) continue;
    eta["says"] =
        fmt::format("{}, after the {} of node {} {}{}", eta["says"].get<std::string>(),
                    node.tested ? "test" : "maintenance", clipped(topology().node(node.node).name),
                    node.tested ? "" : "ends ", in_about(snapshot_, node.at)) +
        (node.tested ? ", if it passes" : "");
    return;
  }
}

std::vector<NodeId> ExplanationText::closed_nodes() const {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < topology().node_count(); ++i) {
    if (snapshot_.engine.state().closed[NodeId(i)] != 0 && can_use(NodeId(i)))
      nodes.emplace_back(i);
  }
  return nodes;
}

// Shows the full reason if all nodes have the same one, otherwise only the kind per node.
std::string ExplanationText::unschedulable_nodes_text() const {
  const std::vector<NodeId> nodes = closed_nodes();
  const std::string& first = snapshot_.closed_why[nodes.front().index()];
  const bool alike = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return snapshot_.closed_why[node.index()] == first;
  });
  const std::size_t colon = first.find(": ");
  const bool told = alike && colon != std::string::npos;
  std::size_t usable = 0;
  for (std::size_t i = 0; i < topology().node_count(); ++i) usable += can_use(NodeId(i)) ? 1 : 0;
  const bool closes_all = nodes.size() == usable;
  if (told && first.starts_with("unusable") && closes_all) {
    return "waits: no node is usable" + first.substr(colon);
  }
  std::string text = "waits for nodes: ";
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string& why = snapshot_.closed_why[nodes[i].index()];
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

std::string ExplanationText::beside(const Why& why) const {
  const bool mem = why.constraint == Constraint::kMemory;
  const auto words = [mem](std::int64_t amount) {
    return mem ? fmt::format("{:.4g} GiB", static_cast<double>(amount) / 1024)
               : fmt::format("{:.4g} CPUs", static_cast<double>(amount) / 1000);
  };
  const Cluster& cluster = *snapshot_.engine.state().cluster;
  const Resources asked = at_least(cluster.fair(why.gpus.best), spec().least) * spec().gpus;
  return fmt::format("waits for {}: it needs {} with {}; one node has at most {} free",
                     mem ? "memory" : "CPUs", words(mem ? asked.mem_mib : asked.cpu_milli),
                     gpu_count(spec().gpus), words(mem ? why.most_mem_mib : why.most_cpu_milli));
}

std::string ExplanationText::quota() const {
  const TenantTree* tenants = snapshot_.rules.planner.chain.tenants;
  if (tenants == nullptr) return "";
  std::int64_t held = 0;
  for (const JobId job : snapshot_.engine.state().placed) {
    const Job& row = snapshot_.engine.state().jobs[job];
    if (row.spec.tenant == spec().tenant) held += snapshot_.engine.lease(job).total.gpus;
  }
  const Tenant& tenant = (*tenants)[spec().tenant];
  return fmt::format(": {} has {} and uses {}; this job needs {}", clipped(tenant.name),
                     gpu_count(tenant.quota), held, spec().gpus);
}

}  // namespace muster
