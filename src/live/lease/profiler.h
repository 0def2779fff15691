#pragma once

// Finds out about the speed of jobs while they do their work: a lease whose like nobody has
// measured has its limit of CPU lowered for some seconds at a time, within what it holds, and its
// own reports say what that costs. Nothing is run twice for it and nothing waits for it. Later its
// speed is held against what was found, and measured anew if it has changed.
//
// The manager calls look() every now and then and carries out what it is given: before a lease is
// told to stop, and before the manager itself ends, let_go() gives back what was taken. A manager
// that dies leaves a low limit behind until the next one sets limits from the leases.

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
#include "live/config/learnt.h"

namespace muster {

class Profiler {
 public:
  explicit Profiler(LeaseFiles files, SessionOptions options = {})
      : files_(std::move(files)), options_(options) {}

  // Give this lease so much of the CPU that it holds, in thousandths, on all its servers.
  struct Limit {
    LiveId id = 0;
    std::uint32_t lease = 0;
    Placement placement;
  };
  struct Finding {
    LiveId id = 0;
    std::string kind;              // Of the event: "profiled", "not-profiled" or "drifted".
    std::string words;             // For people.
    std::optional<Learnt> learnt;  // What to go by from now on.
  };

  void look(const Roster& roster, std::span<const Learnt> learnt, std::int64_t unix_us);
  std::vector<Limit> take_limits() { return std::exchange(limits_, {}); }
  std::vector<Finding> take_findings() { return std::exchange(findings_, {}); }
  bool busy() const;  // Look often.
  // Ends what is being measured, of one job or of all: take_limits() has what they are to have.
  void let_go(LiveId id);
  void let_go();

 private:
  struct Watched {
    std::uint32_t lease = 0;
    Placement placement;         // That the lease holds, ...
    std::int64_t cpu_milli = 0;  // ... in all.
    std::string key;
    StepWatch steps;
    std::int64_t zero_us = 0;
    std::optional<Session> session;  // While it is being measured.
    std::optional<RateMeter> meter;  // While it is held against what is known.
    bool wide_first = false;         // A drift was seen once.
  };

  void begin(const LiveJob& job, Watched& watched, const Learnt* known, std::int64_t unix_us);
  void start_session(Watched& watched, SpeedCurve known, Duration now);
  void measure(const Roster& roster, const LiveJob& job, Watched& watched, const Learnt* known,
               Duration now, std::int64_t unix_us);
  void give_up(const LiveJob& job, const Watched& watched, const std::string& why,
               const Learnt* known, std::int64_t unix_us);
  void compare(const LiveJob& job, Watched& watched, const Learnt& known, Duration now);
  void limit(LiveId id, const Watched& watched, std::int64_t cpu_milli);

  LeaseFiles files_;
  SessionOptions options_;
  std::map<LiveId, Watched> watched_;
  std::set<std::string> measuring_;               // Keys.
  std::map<std::string, std::int64_t> hopeless_;  // Jobs that cannot be measured, and since when.
  std::map<std::string, int> drifts_;             // By key; who drifts often has no one speed.
  std::int64_t last_us_ = 0;
  std::vector<Limit> limits_;
  std::vector<Finding> findings_;
};

}  // namespace muster
