#pragma once

// The state that queries and commands read. The manager owns it, and the references stay valid for
// its lifetime. Manager thread only: a worker gets copies.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/port/service.h"
#include "engine/roster/roster.h"
#include "live/access/manager_mode.h"
#include "live/config/learned_profiles.h"
#include "live/config/state_directory.h"
#include "live/lease/progress.h"
#include "live/store/job_reader.h"
#include "live/views/note_log.h"
#include "live/views/views.h"

namespace muster {

using Done = std::function<void(Answer)>;

// The current roster. A new era replaces it and renumbers the engine rows. Therefore caches of rows
// store era() and expire with it.
class CurrentRoster {
 public:
  explicit CurrentRoster(Roster roster) : roster_(std::move(roster)) {}

  const Roster& operator*() const { return *roster_; }
  const Roster* operator->() const { return &*roster_; }
  std::uint64_t era() const { return era_; }

  Roster& writable() { return *roster_; }  // For the decision loop.
  void replace(Roster roster) {            // For Eras.
    roster_.emplace(std::move(roster));
    ++era_;
  }

 private:
  // Never empty. Replaced as a whole, because an engine must not outlive its world.
  std::optional<Roster> roster_;
  std::uint64_t era_ = 0;
};

struct ManagerStatus {
  std::string blocked;          // Why the journal cannot be written; empty if it can.
  std::uint64_t submitted = 0;  // Jobs since the manager started.
  // Jobs since the manager started, by LiveState from kDone.
  std::array<std::uint64_t, 4> ended = {};
};

struct ReadContext {
  const CurrentRoster& roster;
  JobReader& rows;
  const LiveClock& clock;
  const ProgressReader& progress;
  const std::vector<LearnedProfile>& profiles;
  const std::vector<NodeCaveats>& nodes;
  const NoteLog& notes;
  const ManagerStatus& status;
  const AccountMode& account;
};

}  // namespace muster
