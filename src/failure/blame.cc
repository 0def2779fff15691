#include "failure/blame.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace muster {

ServerBlame::ServerBlame(std::size_t servers, ServerBlameOptions options)
    : options_(options), servers_(servers) {
  MUSTER_CHECK(options.strikes >= 1 && options.users >= 1);
  MUSTER_CHECK(options.window >= Duration() && options.drain >= Duration());
}

bool ServerBlame::strike(Instant now, NodeId server, UserId user, Reason reason) {
  MUSTER_CHECK(servers_.contains(server));
  const Nature nature = info_of(reason).nature;
  if (nature != Nature::kServer && nature != Nature::kSuspect) return false;
  if (drained(server, now)) return false;  // Its other jobs may go on failing: we know.
  Server& struck = servers_[server];
  MUSTER_CHECK(struck.strikes.empty() || struck.strikes.back().at <= now);
  std::erase_if(struck.strikes, [&](const Strike& old) { return now - old.at > options_.window; });
  struck.strikes.push_back({now, user, reason});
  if (!guilty(struck.strikes, reason)) return false;
  struck.strikes.clear();
  struck.drained_until = now + options_.drain;
  return true;
}

bool ServerBlame::guilty(const std::vector<Strike>& strikes, Reason reason) const {
  const bool sure = info_of(reason).points_at_server();
  int count = 0;
  std::vector<UserId> users;
  for (const Strike& strike : strikes) {
    const bool alike = sure ? info_of(strike.reason).points_at_server() : strike.reason == reason;
    if (!alike) continue;
    ++count;
    if (std::find(users.begin(), users.end(), strike.user) == users.end()) {
      users.push_back(strike.user);
    }
  }
  return count >= options_.strikes && (sure || static_cast<int>(users.size()) >= options_.users);
}

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
  // Another reason is another fault: the user is at work on it.
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
