#pragma once

// Replays an era of the journal. If this engine version wrote the era, the roster decides again
// from the inputs, and the digests must agree. If another version wrote it, the roster repeats the
// stored decisions. Used by recovery, `muster what-if` and the invariant checker; each reads the
// journal itself.

#include <cstdint>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/roster/roster.h"
#include "live/codec/era_snapshot.h"
#include "live/codec/input_codec.h"

namespace muster {

class EraReplay {
 public:
  // `settings`: the settings of the snapshot. Errors: the roster cannot be read or does not fit its
  // settings, or the stored decisions do not fit it.
  static Result<EraReplay> begin(const EraSnapshot& snapshot, RosterSettings settings);

  // Returns false if this version cannot reach the state before `step`: the roster decided
  // differently, or another version stored no decisions or ones that lead to another digest.
  bool agrees(const JournalStep& step) const;

  // Replays one step. REQUIRES: agrees(step). An error means that the stored decisions do not fit
  // the state; then the replay has failed.
  MaybeError take(Instant at, const JournalStep& step);

  // A roster that repeats decisions cannot decide. To continue, restore a new roster from it.
  Roster& roster() { return roster_; }
  const Roster& roster() const { return roster_; }
  bool is_other_version() const { return engine_ != kEngineVersion; }
  std::uint32_t engine() const { return engine_; }  // Version that wrote the era.
  std::uint64_t steps() const { return steps_; }    // Replayed so far.

 private:
  EraReplay(RosterSettings settings, const EraSnapshot& snapshot);

  std::uint32_t engine_;
  bool repeats_;  // Repeats stored decisions.
  Roster roster_;
  std::uint64_t steps_ = 0;
};

}  // namespace muster
