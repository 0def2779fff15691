#include "live/codec/era_replay.h"

#include <utility>

#include "live/codec/roster_codec.h"

namespace muster {

EraReplay::EraReplay(RosterSettings settings, const EraSnapshot& snapshot)
    : engine_(snapshot.engine),
      repeats_(is_other_version() && snapshot.decided),
      roster_(std::move(settings), repeats_ ? Deciding::kRepeats : Deciding::kPlans) {}

Result<EraReplay> EraReplay::begin(const EraSnapshot& snapshot, RosterSettings settings) {
  EraReplay replay(std::move(settings), snapshot);
  std::span<const Decisions> decided;
  if (replay.repeats_) decided = *snapshot.decided;
  const Result<RosterState> state = read_roster(snapshot.roster);
  if (!state.ok()) return state.error();
  const Result<std::vector<Order>> unkept = replay.roster_.restore(state.value(), {}, decided);
  if (!unkept.ok()) return unkept.error();
  if (!unkept.value().empty()) {
    return Error{"the snapshot does not match its settings", ErrorCode::kCorrupt};
  }
  return replay;
}

bool EraReplay::agrees(const JournalStep& step) const {
  if (is_other_version() && !(repeats_ && step.decided)) return false;
  return step.before == roster_.digest();
}

MaybeError EraReplay::take(Instant at, const JournalStep& step) {
  ++steps_;
  if (at < roster_.now())
    return Error{"its time is earlier than the previous entry's", ErrorCode::kCorrupt};
  if (repeats_) return roster_.repeat(at, step.inputs, *step.decided);
  roster_.step(at, step.inputs);
  return std::nullopt;
}

}  // namespace muster
