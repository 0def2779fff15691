#pragma once

// What a command did, as values, and the answer to its caller.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "api/port/service.h"
#include "engine/roster/input.h"
#include "live/config/learnt.h"

namespace muster {

struct SubmittedJobs {
  std::vector<LiveId> ids;  // At least one: the jobs of an array, in order.
  bool key_seen = false;    // They were submitted before, with the same idempotency key.
};

struct RetriedJob {
  LiveId id = 0;  // The new job.
  LiveId of = 0;  // The job whose request it has.
};

struct ChangedJob {
  LiveId id = 0;
  std::string state;  // After the change.
};

struct ChangedJobs {
  std::vector<ChangedJob> jobs;  // At least one.
  LiveId array = 0;              // Of the jobs; 0: none.
  bool whole_array = false;      // The caller named "12_*".
};

struct ChangedNode {
  std::string name;
  bool open = false;
};

struct KeptProfile {
  Learnt profile;
};

using CommandOutcome =
    std::variant<SubmittedJobs, RetriedJob, ChangedJobs, ChangedNode, KeptProfile>;

Answer answer_of(const CommandOutcome& outcome);

}  // namespace muster
