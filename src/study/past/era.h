#pragma once

// Replays the newest era of a manager's journal: restores its snapshot under its settings, and
// passes each later entry to a new roster. The decisions must equal the recorded ones, entry by
// entry. If another engine version wrote the era, its stored decisions are repeated instead
// (live/codec/era_replay.h).

#include <cstdint>
#include <string>

#include "base/types/result.h"
#include "base/types/time.h"
#include "study/past/live_history.h"

namespace muster {

struct Era {
  Instant begin;  // Time of its snapshot.
  std::uint64_t entries = 0;
  std::uint64_t inputs = 0;
  std::uint64_t decisions = 0;  // Starts, stops and resizes.
  std::uint64_t leases = 0;     // Starts.
  std::string digest;           // Digest of all decisions, in this era and before.
  std::int64_t held = 0;        // Jobs that were held at some time.
  // Why the replay differs from the recorded era; names the entry. The counts above then end there.
  MaybeError differs;
};

struct LivePast {
  LiveHistory history;
  Era era;
};

// Reads a consistent state of the database, even while its manager runs, and replays the era.
// Returns an error if the database cannot be read.
Result<LivePast> read_live_past(const std::string& database, const PastLimits& limits = {});

}  // namespace muster
