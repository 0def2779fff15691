#include "engine/failure/blame.h"

#include <algorithm>
#include <tuple>

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

std::size_t InputBlame::position(UserId user, NameId name) const {
  const auto before = [](const Input& input, const std::tuple<UserId, NameId>& key) {
    return std::tuple(input.user, input.name) < key;
  };
  const auto found =
      std::lower_bound(inputs_.begin(), inputs_.end(), std::tuple(user, name), before);
  return static_cast<std::size_t>(found - inputs_.begin());
}

bool InputBlame::is(std::size_t at, UserId user, NameId name) const {
  return at < inputs_.size() && inputs_[at].user == user && inputs_[at].name == name;
}

void InputBlame::failed(UserId user, NameId name, JobId job, Reason reason) {
  const std::size_t at = position(user, name);
  if (!is(at, user, name)) {
    inputs_.insert(inputs_.begin() + static_cast<std::ptrdiff_t>(at), {user, name, job, reason, 1});
    return;
  }
  Input& input = inputs_[at];
  if (input.job == job) return;
  // A different reason is a different fault: the user is working on it.
  input.jobs = input.reason == reason ? input.jobs + 1 : 1;
  input.job = job;
  input.reason = reason;
}

void InputBlame::succeeded(UserId user, NameId name) {
  const std::size_t at = position(user, name);
  if (is(at, user, name)) inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(at));
}

bool InputBlame::known_bad(UserId user, NameId name) const {
  const std::size_t at = position(user, name);
  return is(at, user, name) && inputs_[at].jobs >= limit_;
}

}  // namespace muster
