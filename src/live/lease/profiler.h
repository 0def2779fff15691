#pragma once

// Measures the speed of jobs while they run. It lowers the CPU limit of a lease without a profile
// for some seconds at a time, and reads the effect from the job's reports. It runs nothing twice
// and delays nothing. Later it compares the speed with the profile and measures again if it has
// changed.
//
// The manager thread polls look() and applies take_limits(). Before a lease stops and before the
// manager ends, let_go() restores the limits. If the manager crashes, a low limit stays until the
// next manager sets the limits of all leases.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/fit/session.h"
#include "engine/roster/roster.h"
#include "exec/lease/lease_files.h"
#include "exec/machine/step_watch.h"
#include "live/config/learned_profiles.h"

namespace muster {

class Profiler {
 public:
  explicit Profiler(LeaseFiles files, SessionOptions options = {})
      : files_(std::move(files)), options_(options) {}

  // New CPU limits of a lease on all its nodes, as a placement.
  struct Limit {
    LiveId id = 0;
    std::uint32_t lease = 0;
    Placement placement;
  };
  struct Finding {
    LiveId id = 0;
    std::string kind;   // Kind of the event: "profiled", "not-profiled" or "drifted".
    std::string words;  // Human-readable.
    std::optional<LearnedProfile> learned;  // The profile to use from now on.
  };

  void look(const Roster& roster, std::span<const LearnedProfile> learned, std::int64_t unix_us);
  std::vector<Limit> take_limits() { return std::exchange(limits_, {}); }
  std::vector<Finding> take_findings() { return std::exchange(findings_, {}); }
  bool busy() const;  // True: poll often.
  // Ends the measurement of one job or of all jobs. take_limits() then returns their full limits.
  void let_go(LiveId id);
  void let_go();

 private:
  struct Watched {
    std::uint32_t lease = 0;
    Placement placement;         // Resources that the lease holds.
    std::int64_t cpu_milli = 0;  // Total CPU of the placement.
    std::string key;
    StepWatch steps;
    std::int64_t zero_us = 0;
    std::optional<Session> session;  // Set while it is being measured.
    std::optional<RateMeter> meter;  // Set while its speed is compared with the profile.
    bool wide_first = false;         // One comparison has shown a drift.
  };

  void begin(const LiveJob& job, Watched& watched, const LearnedProfile* known,
             std::int64_t unix_us);
  void start_session(Watched& watched, SpeedCurve known, Duration now);
  void measure(const Roster& roster, const LiveJob& job, Watched& watched,
               const LearnedProfile* known, Duration now, std::int64_t unix_us);
  void give_up(const LiveJob& job, const Watched& watched, const std::string& why,
               const LearnedProfile* known, std::int64_t unix_us);
  void compare(const LiveJob& job, Watched& watched, const LearnedProfile& known, Duration now);
  void limit(LiveId id, const Watched& watched, std::int64_t cpu_milli);

  LeaseFiles files_;
  SessionOptions options_;
  std::map<LiveId, Watched> watched_;
  std::set<std::string> measuring_;  // Profile keys.
  // By key: jobs that cannot be measured, and since when.
  std::map<std::string, std::int64_t> hopeless_;
  std::map<std::string, int> drifts_;  // By key; a job that drifts often has no stable speed.
  std::int64_t last_us_ = 0;
  std::vector<Limit> limits_;
  std::vector<Finding> findings_;
};

}  // namespace muster
