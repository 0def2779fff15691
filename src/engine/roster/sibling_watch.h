#pragma once

// Counts failures of sibling jobs: jobs of one array, or of one user and name. The roster holds the
// waiting siblings when several in a row failed for the same reason.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/roster/live_job.h"
#include "engine/roster/roster_state.h"

namespace muster {

Siblings siblings_of(const LiveJob& job);

class SiblingWatch {
 public:
  // Equal failures in a row until the other siblings are held.
  static constexpr std::int32_t kMaxAlike = 3;

  // Counts the end of a job. Returns true if its waiting siblings must be held. REQUIRES: the job
  // has ended.
  bool count_end(const LiveJob& ended);

  // Streaks of jobs with siblings among `active`.
  std::vector<std::pair<Siblings, SiblingStreak>> state(
      const std::map<LiveId, LiveJob>& active) const;
  void restore(const std::vector<std::pair<Siblings, SiblingStreak>>& streaks);

 private:
  std::map<Siblings, SiblingStreak> streaks_;
};

}  // namespace muster
