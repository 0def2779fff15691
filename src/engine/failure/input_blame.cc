#include "engine/failure/input_blame.h"

#include "base/types/check.h"

namespace muster {

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
