#pragma once

// The rows of the tables for people: plain values. Times are microseconds on the daemon's clock.

#include <cstdint>
#include <optional>
#include <string>

#include "base/types/time.h"

namespace muster {

struct JobRow {
  std::uint64_t id = 0;  // From Journal::next_id.
  std::string key;       // Another name of it that a person may type; may be empty.
  std::string tenant;
  std::string user;
  std::string name;
  std::string state;
  std::string spec;  // JSON.
  Instant submitted;
  std::optional<Instant> started;
  std::optional<Instant> ended;  // Set when, and only when, the job is over.
  std::uint32_t attempts = 0;
  std::string exit;  // How it ended, in a few words.

  friend bool operator==(const JobRow&, const JobRow&) = default;
};

struct AttemptRow {
  std::uint64_t job = 0;
  std::uint32_t number = 0;  // Among the attempts of its job.
  std::string state;
  std::string nodes;
  std::optional<Instant> started;
  std::optional<Instant> ended;
  std::string exit;

  friend bool operator==(const AttemptRow&, const AttemptRow&) = default;
};

// An attempt whose processes ran, with whose it was.
struct AttemptSpan {
  std::uint64_t job = 0;
  std::string tenant, user, name;
  std::string state, nodes;  // Of the attempt.
  Instant started;
  std::optional<Instant> ended;
};

// A job from its submission on.
struct JobSpan {
  std::string tenant;
  Instant submitted;
  std::optional<Instant> started;
  std::optional<Instant> ended;
};

// One thing that happened, as people are told it.
struct EventRow {
  std::uint64_t number = 0;  // Ascending; never given twice.
  std::uint64_t job = 0;     // 0: not about a job.
  std::string user;          // Whose job.
  std::string json;
  std::string full;  // The same with what only operators are told; empty: there is nothing more.

  friend bool operator==(const EventRow&, const EventRow&) = default;
};

}  // namespace muster
