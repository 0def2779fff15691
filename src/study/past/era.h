#pragma once

// The newest era of a manager's journal, decided again: the snapshot it begins with is restored
// under the settings it was written under, and every entry after it is given to a new roster. What
// that decides must be what was decided then, entry by entry. If another engine version wrote the
// era, its stored decisions are repeated instead (live/codec/era_replay.h).

#include <cstdint>
#include <string>

#include "base/types/result.h"
#include "base/types/time.h"
#include "study/past/live_history.h"

namespace muster {

struct Era {
  Instant begin;  // When its snapshot was taken.
  std::uint64_t entries = 0;
  std::uint64_t inputs = 0;
  std::uint64_t decisions = 0;  // Starts, stops and resizes.
  std::uint64_t leases = 0;     // Starts.
  std::string digest;           // Of all that was decided, this era and before.
  std::int64_t held = 0;        // Jobs held for a while in it.
  // Why it does not come out as it was; names the entry. Then nothing above goes further.
  Refusal differs;
};

struct LivePast {
  LiveHistory history;
  Era era;
};

// Reads the database at one instant, whatever its manager is doing, and replays the era. Refuses
// what cannot be read at all.
Result<LivePast> read_live_past(const std::string& database, const PastLimits& limits = {});

}  // namespace muster
