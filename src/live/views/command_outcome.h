#pragma once

// The results of commands, and the answers to their callers.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "api/port/service.h"
#include "engine/roster/input.h"
#include "live/config/learned_profiles.h"

namespace muster {

struct SubmittedJobs {
  std::vector<LiveId> ids;  // At least one: the jobs of an array, in order.
  bool key_seen = false;    // Submitted before, with the same idempotency key.
};

struct RetriedJob {
  LiveId id = 0;  // The new job.
  LiveId of = 0;  // The job that it retries.
  std::string owner;
  std::uint32_t owner_uid = kNoUid;
};

struct ChangedJob {
  LiveId id = 0;
  std::string state;  // After the change.
};

struct ChangedJobs {
  std::vector<ChangedJob> jobs;  // At least one.
  LiveId array = 0;              // Array of the jobs; 0: none.
  bool whole_array = false;      // The caller specified "12_*".
  std::string owner;
  std::uint32_t owner_uid = kNoUid;
};

struct ChangedNode {
  std::string name;
  bool open = false;
  std::optional<std::int64_t> until = {};  // End of the drain, in seconds since 1970.
};

struct KeptProfile {
  LearnedProfile profile;
};

struct IssuedTicket {};

struct LoggedOut {
  std::string user;
  std::uint64_t generation = 0;  // Only tickets of this generation are valid.
};

using CommandOutcome = std::variant<SubmittedJobs, RetriedJob, ChangedJobs, ChangedNode,
                                    KeptProfile, IssuedTicket, LoggedOut>;

Answer answer_of(const CommandOutcome& outcome);

}  // namespace muster
