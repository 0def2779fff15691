#include "engine/roster/sibling_watch.h"

namespace muster {

// A generated name contains only the program, so the whole command is compared instead.
Siblings siblings_of(const LiveJob& job) {
  if (job.array != 0) return {job.array, ""};
  std::string name = job.user + '\n' + job.request.name;
  JobRequest nameless;
  nameless.command = job.request.command;
  complete_request(nameless);
  if (nameless.name == job.request.name) {
    for (const std::string& word : nameless.command) name += '\n' + word;
  }
  return {0, std::move(name)};
}

// Repeated failures for the same reason count only if the program causes them; a hanging file
// server does not count. A suspect reason, which may be caused by the node, counts only within an
// array, and only until one job of the array has succeeded.
bool SiblingWatch::count_end(const LiveJob& ended) {
  if (*ended.end != LiveState::kDone && *ended.end != LiveState::kFailed) return false;
  const Siblings siblings = siblings_of(ended);
  if (*ended.end == LiveState::kDone && ended.array == 0) {
    streaks_.erase(siblings);
    return false;
  }
  SiblingStreak& streak = streaks_[siblings];
  if (*ended.end == LiveState::kDone) streak.any_good = true;
  const std::optional<Reason> reason =
      *ended.end == LiveState::kFailed ? ended.failed_by : std::nullopt;
  const std::optional<SignatureReaction>& told = ended.proof.told;
  const RetryClass nature = reason ? nature_of(*reason, told) : RetryClass::kPassing;
  const bool final = nature == RetryClass::kDeterministic;
  const bool own = final && (!told || told->bucket == Bucket::kUser);
  const bool suspect =
      nature == RetryClass::kSuspect || (final && told && told->bucket != Bucket::kInfrastructure);
  if (!own && !(suspect && ended.array != 0 && !streak.any_good)) {
    streak.failed = 0;
    return false;
  }
  if (streak.reason != reason) streak.failed = 0;
  streak.reason = reason;
  if (++streak.failed < kMaxAlike) return false;
  streak.failed = 0;  // Released jobs get as many tries again.
  return true;
}

std::vector<std::pair<Siblings, SiblingStreak>> SiblingWatch::state(
    const std::map<LiveId, LiveJob>& active) const {
  if (streaks_.empty()) return {};
  std::set<Siblings> alive;  // Their streaks are still needed.
  for (const auto& [id, job] : active) {
    if (!job.end) alive.insert(siblings_of(job));
  }
  std::vector<std::pair<Siblings, SiblingStreak>> kept;
  for (const auto& [siblings, streak] : streaks_) {
    if (alive.contains(siblings)) kept.emplace_back(siblings, streak);
  }
  return kept;
}

void SiblingWatch::restore(const std::vector<std::pair<Siblings, SiblingStreak>>& streaks) {
  for (const auto& [siblings, streak] : streaks) streaks_[siblings] = streak;
}

}  // namespace muster
