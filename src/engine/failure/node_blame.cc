#include "engine/failure/node_blame.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/types/check.h"

namespace muster {

namespace {

// Bounds the memory and the time that one user with many failures costs. Older strikes that equal
// later ones change no decision.
constexpr int kMaxEqualStrikes = 8;
constexpr std::size_t kMaxEventsPerNode = 64;

// "Xid 79 twice, ECC errors, 1 confirmed report"
std::string text_of(const std::vector<BlameMemory::Event>& events, int confirmed) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const BlameMemory::Event& event : events) {
    const auto found = std::find_if(kinds.begin(), kinds.end(),
                                    [&](const auto& kind) { return kind.first == event.what; });
    found == kinds.end() ? (void)kinds.emplace_back(event.what, 1) : (void)++found->second;
  }
  std::string text;
  for (const auto& [what, count] : kinds) {
    text += (text.empty() ? "" : ", ") + what;
    if (count > 1) text += count == 2 ? " twice" : " " + std::to_string(count) + " times";
  }
  if (confirmed > 0) {
    text += ", " + std::to_string(confirmed) + " confirmed report" + (confirmed == 1 ? "" : "s");
  }
  return text;
}

}  // namespace

NodeBlame::NodeBlame(std::size_t nodes, NodeBlameOptions options)
    : options_(options), nodes_(nodes) {
  MUSTER_CHECK(options.strikes >= 1 && options.users >= 1 && options.tenants >= 1);
  MUSTER_CHECK(options.window >= Duration() && options.drain >= Duration());
}

void NodeBlame::note(std::vector<Strike>& strikes, const Strike& strike) {
  MUSTER_CHECK(strikes.empty() || strikes.back().at <= strike.at);
  const auto is_equal = [&](const Strike& old) {
    return old.user == strike.user && old.tenant == strike.tenant && old.reason == strike.reason &&
           old.alike == strike.alike && old.young == strike.young;
  };
  if (std::count_if(strikes.begin(), strikes.end(), is_equal) >= kMaxEqualStrikes) {
    strikes.erase(std::find_if(strikes.begin(), strikes.end(), is_equal));
  }
  strikes.push_back(strike);
}

void NodeBlame::forget_old(HistoryNode& node, Instant now) const {
  const auto is_old = [&](const auto& old) { return now - old.at > options_.window; };
  std::erase_if(node.strikes, is_old);
  std::erase_if(node.events, is_old);
}

std::optional<Charge> NodeBlame::report(Instant now, const NodeReport& report, bool may_close) {
  MUSTER_CHECK(nodes_.contains(report.node));
  if (drained(report.node, now)) return std::nullopt;  // Its remaining jobs may still fail.
  const RetryClass nature = report.nature;
  Strike strike{now, report.user, report.tenant, report.reason};
  strike.alike = report.blames_node && report.reason != Reason::kNoSignature &&
                 (nature == RetryClass::kNode || nature == RetryClass::kSuspect);
  strike.young = report.alone && report.ran <= options_.young &&
                 nature != RetryClass::kDeterministic && nature != RetryClass::kScheduler;
  if (!strike.alike && !strike.young) return std::nullopt;
  if (report.grade == EvidenceGrade::kMeasured && strike.alike) {
    return measured(now, report.node, std::string(info_of(report.reason).name));
  }
  if (is_ignored(report.tenant, now)) return std::nullopt;
  HistoryNode& node = nodes_[report.node];
  forget_old(node, now);
  note(node.strikes, strike);
  std::optional<Charge> charge = judge_events(node);
  if (!charge && may_close) charge = judge_reports(node.strikes, now);
  if (charge) drain(report.node, *charge, now);
  return charge;
}

std::optional<Charge> NodeBlame::measured(Instant now, NodeId id, std::string what) {
  MUSTER_CHECK(nodes_.contains(id));
  if (drained(id, now)) return std::nullopt;
  HistoryNode& node = nodes_[id];
  forget_old(node, now);
  if (node.events.size() >= kMaxEventsPerNode) node.events.erase(node.events.begin());
  node.events.push_back({id, now, std::move(what)});
  const std::optional<Charge> charge = judge_events(node);
  if (charge) drain(id, *charge, now);
  return charge;
}

// A confirmed report counts as one more event.
std::optional<Charge> NodeBlame::judge_events(const HistoryNode& node) const {
  if (node.events.empty()) return std::nullopt;
  Instant first = node.events.front().at;
  Instant last = node.events.back().at;
  int confirmed = 0;
  for (const Strike& strike : node.strikes) {
    const bool is_confirmed =
        std::any_of(node.events.begin(), node.events.end(), [&](const auto& event) {
          return std::max(strike.at - event.at, event.at - strike.at) <= options_.confirms;
        });
    if (!is_confirmed) continue;
    ++confirmed;
    first = std::min(first, strike.at);
    last = std::max(last, strike.at);
  }
  Charge charge;
  charge.failures = static_cast<int>(node.events.size()) + confirmed;
  if (charge.failures < options_.strikes) return std::nullopt;
  charge.within = last - first;
  charge.grade = EvidenceGrade::kMeasured;
  charge.what = text_of(node.events, confirmed);
  return charge;
}

// Judges the last strike, first with those of the same reason and then as an early failure.
std::optional<Charge> NodeBlame::judge_reports(const std::vector<Strike>& strikes,
                                               Instant now) const {
  const Strike& latest = strikes.back();
  for (const bool young : {false, true}) {
    if (young ? !latest.young : !latest.alike) continue;
    std::set<UserId> users;
    std::set<TenantId> tenants;
    Charge charge;
    Instant first = now;
    for (const Strike& each : strikes) {
      const bool counts = young ? each.young && now - each.at <= options_.young_window
                                : each.alike && each.reason == latest.reason;
      if (!counts || is_ignored(each.tenant, now)) continue;
      users.insert(each.user);
      tenants.insert(each.tenant);
      first = std::min(first, each.at);
      ++charge.failures;
    }
    charge.reason = latest.reason;
    charge.users = static_cast<int>(users.size());
    charge.within = now - first;
    charge.young = young;
    charge.tenants.assign(tenants.begin(), tenants.end());
    if (charge.failures >= options_.strikes && charge.users >= options_.users &&
        charge.tenants.size() >= static_cast<std::size_t>(options_.tenants)) {
      return charge;
    }
  }
  return std::nullopt;
}

void NodeBlame::drain(NodeId id, const Charge& charge, Instant now) {
  HistoryNode& node = nodes_[id];
  node.strikes.clear();
  node.events.clear();
  node.drained_until = options_.drain == Duration::max() ? Instant::never() : now + options_.drain;
  if (charge.grade == EvidenceGrade::kMeasured) return;
  std::erase_if(closings_, [&](const auto& closing) { return closing.node == id; });
  closings_.push_back({id, now, charge.tenants});
}

void NodeBlame::succeeded(NodeId node) {
  for (Strike& strike : nodes_[node].strikes) strike.young = false;
  std::erase_if(nodes_[node].strikes, [](const Strike& strike) { return !strike.alike; });
}

void NodeBlame::confirm(NodeId node) {
  for (BlameMemory::Closing& closing : closings_) {
    if (closing.node == node) closing.tenants.clear();
  }
}

void NodeBlame::test_passed(Instant now, NodeId node) {
  for (BlameMemory::Closing& closing : closings_) {
    if (closing.node != node) continue;
    for (const TenantId tenant : std::exchange(closing.tenants, {})) {
      BlameMemory::Standing& standing = standings_[tenant];
      standing.tenant = tenant;
      if (++standing.refuted < options_.refuted) continue;
      standing.refuted = 0;
      standing.ignored_until = now + options_.ignored;
    }
  }
}

void NodeBlame::pardon(NodeId node) {
  nodes_[node].drained_until = Instant();
  confirm(node);  // Without a test, nothing refutes the reports.
}

bool NodeBlame::is_ignored(TenantId tenant, Instant now) const {
  const auto found = standings_.find(tenant);
  return found != standings_.end() && now < found->second.ignored_until;
}

std::vector<NodeId> NodeBlame::closed_by_reports(Instant now) const {
  std::vector<NodeId> nodes;
  for (const BlameMemory::Closing& closing : closings_) {
    if (now - closing.at < options_.report_period) nodes.push_back(closing.node);
  }
  return nodes;
}

BlameMemory NodeBlame::memory(Instant now) const {
  BlameMemory memory;
  for (const HistoryNode& node : nodes_) {
    for (const BlameMemory::Event& event : node.events) {
      if (now - event.at <= options_.window) memory.events.push_back(event);
    }
  }
  for (const BlameMemory::Closing& closing : closings_) {
    const bool is_recent = now - closing.at < options_.report_period;
    if (is_recent || !closing.tenants.empty()) memory.closings.push_back(closing);
  }
  for (const auto& [tenant, standing] : standings_) {
    if (standing.refuted > 0 || is_ignored(tenant, now)) memory.tenants.push_back(standing);
  }
  return memory;
}

void NodeBlame::restore(const BlameMemory& memory) {
  for (const BlameMemory::Event& event : memory.events) {
    if (nodes_.contains(event.node)) nodes_[event.node].events.push_back(event);
  }
  closings_ = memory.closings;
  for (const BlameMemory::Standing& standing : memory.tenants) {
    standings_[standing.tenant] = standing;
  }
}

}  // namespace muster
