#pragma once

// Measures the speed of jobs without a profile and keeps the measured profiles. The manager polls
// look(), carries out take_limits(), and schedules with profiles() once has_changed() is true.
//
// Threads: the manager thread owns it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/roster/roster.h"
#include "exec/lease/lease_files.h"
#include "live/config/learned_profiles.h"
#include "live/lease/profiler.h"

namespace muster {

struct SpeedSettings {
  LeaseFiles files;     // The reports of leases.
  bool enabled = true;  // False: measures nothing.
  Duration every;       // Poll interval while nothing is being measured.
  SessionOptions session;
};

class SpeedLearning {
 public:
  SpeedLearning(SpeedSettings settings, std::vector<LearnedProfile> profiles)
      : settings_(std::move(settings)),
        profiles_(std::move(profiles)),
        profiler_(settings_.files, settings_.session) {}

  const std::vector<LearnedProfile>& profiles() const { return profiles_; }
  bool is_measuring() const { return profiler_.busy(); }
  Instant next_look() const { return next_look_; }

  // If a poll is due: starts, continues and ends measurements. Appends inputs for the findings.
  void look(const Roster& roster, Instant now, std::vector<Input>& inputs);
  // Returns the CPU limits that leases must get now: for some seconds below what they hold. They
  // are not decisions, so they are not in the journal.
  std::vector<Profiler::Limit> take_limits() { return profiler_.take_limits(); }
  // Ends the measurement of one job or of all; take_limits() then restores their limits.
  void let_go(LiveId id) { profiler_.let_go(id); }
  void let_go() { profiler_.let_go(); }

  // Stores a profile that a user measured: JSON for read_learned_profiles() with "name" and
  // "command". Returns the stored profile. Errors: kInvalid; then nothing is stored.
  Result<LearnedProfile> keep(const std::string& user, const std::string& body,
                              std::int64_t unix_s);

  // Whether profiles() has changed since the last call of accept_changes().
  bool has_changed() const { return changed_; }
  // Resets has_changed() and returns true. Returns false while a lease is stopping, because an
  // engine rebuilt with the new profiles would lose it.
  bool accept_changes(const Roster& roster);

 private:
  SpeedSettings settings_;
  std::vector<LearnedProfile> profiles_;
  bool changed_ = false;
  Profiler profiler_;
  Instant next_look_;
};

}  // namespace muster
