#pragma once

// Brings a roster to the end of an era of the journal. If this engine version wrote the era, the
// roster decides again from the inputs, and the digests must agree. If another version wrote it,
// the roster repeats the stored decisions. Recovery, `muster what-if` and the checker of invariants
// use it; all three read the journal themselves.

#include <cstdint>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/roster/roster.h"
#include "live/codec/era_snapshot.h"
#include "live/codec/input_codec.h"

namespace muster {

class EraReplay {
 public:
  // `settings`: those of the snapshot. Errors: the roster cannot be read, does not fit its
  // settings, or the stored decisions do not fit it.
  static Result<EraReplay> begin(const EraSnapshot& snapshot, RosterSettings settings);

  // False: this version cannot reach the state before this step. The roster decided differently,
  // another version did not store its decisions, or its decisions led to another digest.
  bool agrees(const JournalStep& step) const;

  // REQUIRES: agrees(step). An error: the stored decisions do not fit the state; the replay has
  // failed.
  Refusal take(Instant at, const JournalStep& step);

  // A roster that repeats decisions cannot decide: continue with a new one, restored from it.
  Roster& roster() { return roster_; }
  const Roster& roster() const { return roster_; }
  bool is_other_version() const { return engine_ != kEngineVersion; }
  std::uint32_t engine() const { return engine_; }  // Version that wrote the era.
  std::uint64_t steps() const { return steps_; }    // Taken so far.

 private:
  EraReplay(RosterSettings settings, const EraSnapshot& snapshot);

  std::uint32_t engine_;
  bool repeats_;  // Stored decisions.
  Roster roster_;
  std::uint64_t steps_ = 0;
};

}  // namespace muster
