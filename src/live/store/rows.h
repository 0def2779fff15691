#pragma once

// The rows of the tables, as plain values. Times are microseconds of the daemon's clock.

#include <cstdint>
#include <optional>
#include <string>

#include "base/types/time.h"

namespace muster {

struct JobRow {
  std::uint64_t id = 0;  // From Journal::next_id.
  std::string key;       // Alternative name that users can type; may be empty.
  std::string tenant;
  std::string user;
  std::string name;
  std::string state;
  std::string spec;  // JSON.
  Instant submitted;
  std::optional<Instant> started;
  std::optional<Instant> ended;  // Set if and only if the job is finished.
  std::uint32_t attempts = 0;
  std::string exit;  // Short text: how it ended.

  friend bool operator==(const JobRow&, const JobRow&) = default;
};

struct AttemptRow {
  std::uint64_t job = 0;
  std::uint32_t number = 0;  // Within its job.
  std::string state;
  std::string nodes;
  std::optional<Instant> started;
  std::optional<Instant> ended;
  std::string exit;

  friend bool operator==(const AttemptRow&, const AttemptRow&) = default;
};

// An attempt that has started, with its job's tenant, user and name.
struct AttemptSpan {
  std::uint64_t job = 0;
  std::string tenant, user, name;
  std::string state, nodes;  // State and nodes of the attempt.
  Instant started;
  std::optional<Instant> ended;
};

// The times of a job.
struct JobSpan {
  std::string tenant;
  Instant submitted;
  std::optional<Instant> started;
  std::optional<Instant> ended;
};

// One event as users see it.
struct EventRow {
  std::uint64_t number = 0;  // Ascending and unique.
  std::uint64_t job = 0;     // 0: not about a job.
  std::string user;          // Owner of the job.
  std::string json;
  std::string full;  // With details for operators; empty: no more details.

  friend bool operator==(const EventRow&, const EventRow&) = default;
};

// A row of the audit: a change, a refusal, or a look at another user's output.
struct AuditRow {
  std::uint64_t number = 0;  // Ascending; the journal sets it.
  Instant at;
  std::optional<std::uint32_t> uid;        // Uid of the caller; nullopt: unknown.
  std::string user;                        // The caller; empty: not authenticated.
  std::string via;                         // As Caller::via; empty: not authenticated.
  std::string address;                     // IP address; empty: not over TCP.
  std::string verb;                        // Name of the call.
  std::string object;                      // "job 12", "node left"; may be empty.
  std::uint64_t job = 0;                   // Job or array of the object; 0: none.
  std::string owner;                       // Owner of the job, if it is another user.
  std::optional<std::uint32_t> owner_uid;  // nullopt: unknown, or no other user.
  int status = 0;                          // HTTP status of the answer.
  std::string answer;                      // Short text.
  std::uint64_t dropped = 0;               // Number of refusals that this row replaces.

  friend bool operator==(const AuditRow&, const AuditRow&) = default;
};

}  // namespace muster
