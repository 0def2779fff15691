#pragma once

// Detects jobs that fail each time they are submitted. The engine reports each failure whose
// Verdict::blames names the user, in order of time. node_blame.h does the same for nodes.

#include <map>
#include <utility>

#include "base/types/id.h"
#include "engine/failure/reasons.h"

namespace muster {

// Detects users and job names whose last `limit` jobs failed by their own fault with the same
// reason. Later jobs are known_bad() and get no retry for suspect failures, until one succeeds.
class InputBlame {
 public:
  explicit InputBlame(int limit = 2);  // REQUIRES: limit is at least 1.

  // Records a failed job. Several attempts of one job count once.
  void failed(UserId user, NameId name, JobId job, Reason reason);
  void succeeded(UserId user, NameId name);

  bool known_bad(UserId user, NameId name) const;

 private:
  struct Failures {
    JobId last;  // The last job that failed.
    Reason reason = Reason::kNoSignature;
    int jobs = 0;  // Consecutive jobs with that reason.
  };

  int limit_;
  std::map<std::pair<UserId, NameId>, Failures> inputs_;
};

}  // namespace muster
