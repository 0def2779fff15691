#pragma once

// Test helpers for reactions to failures.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/roster/roster.h"
#include "engine/roster/testing.h"

namespace muster::live_testing {

inline RosterSettings adaptive(const char* cluster) {
  RosterSettings settings = settings_for(cluster);
  settings.engine.retry = RetryPolicy::adaptive();
  return settings;
}

inline SubmitInput of(LiveId id, const char* user) {
  SubmitInput input = submit(id);
  input.user = user;
  return input;
}

inline SubmitInput member(LiveId id, LiveId array, std::int32_t at_once = 0) {
  SubmitInput input = submit(id);
  input.array = array;
  input.index = static_cast<std::int32_t>(id);
  input.at_once = at_once;
  return input;
}

// Text of the last note of this kind; empty if there is none.
inline std::string said(const Roster& roster, const std::string& kind) {
  std::string words;
  for (const RosterNote& note : roster.notes()) {
    EXPECT_LT(note.words.size(), 120U) << note.words;
    if (note.kind == kind) words = note.words;
  }
  return words;
}

// A Desk that keeps the last note of each kind.
class Counter : public Desk {
 public:
  using Desk::Desk;
  // Ends its lease with this failure after a run time of one second.
  void fails_at(std::int64_t second, LiveId id, const char* reason, FailureEvidence proof = {},
                const char* says = "so it went") {
    LeaseOverInput input = over(id, LeaseResult::kFailed, reason);
    input.proof = std::move(proof);
    input.words = says;
    input.ran_ms = 1000;
    machine.leases.erase({id, input.lease});
    roster.step(Instant::at(Duration::seconds(second)), std::vector<Input>{input});
    machine.obey(roster.orders());
    for (const RosterNote& note : roster.notes()) heard[note.kind] = note.words;
    said(roster, "");
    at(second, {});
  }
  void tick(std::int64_t second) {
    roster.step(Instant::at(Duration::seconds(second)), std::vector<Input>{TickInput{}});
    machine.obey(roster.orders());
    for (const RosterNote& note : roster.notes()) heard[note.kind] = note.words;
    at(second, {});
  }
  std::string where(LiveId id) const {
    const LiveJob* job = roster.find(id);
    return job != nullptr && job->lease ? roster.where(job->lease->placement) : "";
  }

  std::map<std::string, std::string> heard;  // Last text of each kind.
};

}  // namespace muster::live_testing
