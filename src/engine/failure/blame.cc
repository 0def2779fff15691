#include "engine/failure/blame.h"

#include <algorithm>

#include "base/types/check.h"

namespace muster {

NodeBlame::NodeBlame(std::size_t nodes, NodeBlameOptions options)
    : options_(options), nodes_(nodes) {
  MUSTER_CHECK(options.strikes >= 1 && options.users >= 1);
  MUSTER_CHECK(options.window >= Duration() && options.drain >= Duration());
}

void NodeBlame::note(std::vector<Strike>& strikes, const Strike& strike, Duration window) {
  MUSTER_CHECK(strikes.empty() || strikes.back().at <= strike.at);
  std::erase_if(strikes, [&](const Strike& old) { return strike.at - old.at > window; });
  strikes.push_back(strike);
}

std::optional<Charge> NodeBlame::strike(Instant now, NodeId node, UserId user, Reason reason,
                                        RetryClass nature) {
  MUSTER_CHECK(nodes_.contains(node));
  if (nature != RetryClass::kNode && nature != RetryClass::kSuspect) return std::nullopt;
  if (reason == Reason::kNoSignature) return std::nullopt;
  if (drained(node, now)) return std::nullopt;  // Its remaining jobs may still fail.
  HistoryNode& struck = nodes_[node];
  const bool sure = nature == RetryClass::kNode;
  note(struck.strikes, {now, user, reason, sure}, options_.window);
  std::vector<Strike> alike;
  for (const Strike& each : struck.strikes) {
    if (sure ? each.sure : each.reason == reason) alike.push_back(each);
  }
  return drain(struck, judge(alike, sure ? 1 : options_.users), now);
}

std::optional<Charge> NodeBlame::died(Instant now, NodeId node, UserId user, Reason reason,
                                      Duration ran, RetryClass nature) {
  MUSTER_CHECK(nodes_.contains(node));
  if (nature == RetryClass::kDeterministic || nature == RetryClass::kScheduler) return std::nullopt;
  if (ran > options_.young || drained(node, now)) return std::nullopt;
  HistoryNode& struck = nodes_[node];
  note(struck.young, {now, user, reason, false}, options_.young_window);
  std::optional<Charge> charge = judge(struck.young, options_.users);
  if (charge) charge->young = true;
  return drain(struck, charge, now);
}

std::optional<Charge> NodeBlame::judge(const std::vector<Strike>& alike, int users) const {
  std::vector<UserId> distinct;
  for (const Strike& each : alike) {
    if (std::find(distinct.begin(), distinct.end(), each.user) == distinct.end())
      distinct.push_back(each.user);
  }
  const Charge charge = {alike.back().reason, static_cast<int>(alike.size()),
                         static_cast<int>(distinct.size()), alike.back().at - alike.front().at,
                         false};
  if (charge.failures < options_.strikes || charge.users < users) return std::nullopt;
  return charge;
}

std::optional<Charge> NodeBlame::drain(HistoryNode& node, std::optional<Charge> charge,
                                       Instant now) {
  if (!charge) return std::nullopt;
  node.strikes.clear();
  node.young.clear();
  node.drained_until = options_.drain == Duration::max() ? Instant::never() : now + options_.drain;
  return charge;
}

void NodeBlame::succeeded(NodeId node) { nodes_[node].young.clear(); }

void NodeBlame::pardon(NodeId node) { nodes_[node].drained_until = Instant(); }

InputBlame::InputBlame(int limit) : limit_(limit) { MUSTER_CHECK(limit >= 1); }

void InputBlame::failed(UserId user, NameId name, JobId job, Reason reason) {
  const auto [at, is_new] = inputs_.try_emplace({user, name}, Failures{job, reason, 1});
  Failures& failures = at->second;
  if (is_new || failures.last == job) return;
  // A different reason is a different fault: the user is working on it.
  failures.jobs = failures.reason == reason ? failures.jobs + 1 : 1;
  failures.last = job;
  failures.reason = reason;
}

void InputBlame::succeeded(UserId user, NameId name) { inputs_.erase({user, name}); }

bool InputBlame::known_bad(UserId user, NameId name) const {
  const auto at = inputs_.find({user, name});
  return at != inputs_.end() && at->second.jobs >= limit_;
}

}  // namespace muster
