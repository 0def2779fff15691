#pragma once

// When a waiting job will start: a band that holds four of five starts, from a few drives of the
// engine over guesses at what everybody has left. How far such bands were off before widens or
// narrows the next (Errors): conformal prediction, each end by itself.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "base/types/time.h"
#include "engine/core/engine.h"
#include "sim/forecast/guesses.h"

namespace muster {

struct Band {
  Instant soonest;  // One start in ten is before this.
  Instant likely;   // Half are.
  Instant latest;   // Nine of ten are. never(): beyond what we looked at.
};

// What drives of the engine alone say.
struct RawBand {
  Band band;
  int drives = 0;
};

struct EtaOptions {
  int most_drives = 16;
  std::uint64_t seed = 1;
  Duration horizon = Duration::seconds(60 * 86'400);
  DriveCosts costs;
  // Asked after each drive: enough time spent. There are two drives at least.
  std::function<bool()> enough;
};

// `job` waits or is parked.
RawBand raw_eta(const Engine& engine, Instant now, JobId job, const Guesses& guesses,
                const EtaOptions& options);

// Of many jobs that wait or are parked, by the same drives; of each that all drives came far enough
// to tell.
struct EtasOptions {
  int most_drives = 8;
  std::uint64_t seed = 1;
  Duration horizon = Duration::seconds(60 * 86'400);
  DriveCosts costs;
  std::function<bool(int drive)> tired;    // Asked now and then in a drive: it has taken too long.
  std::function<bool(int drives)> enough;  // Asked after each drive: no more of them.
};
std::map<JobId, Band> raw_etas(const Engine& engine, Instant now, std::span<const JobId> jobs,
                               const Guesses& guesses, const EtasOptions& options);

// What becomes of a raw band once one knows how bands were off before.
class Errors {
 public:
  Band corrected(Instant asked, const Band& raw) const;
  // A job has started about which `told` was said when `raw` was known.
  void learn(Instant asked, const Band& raw, const Band& told, Instant started);
  std::size_t known() const { return low_.past.size(); }

 private:
  // Of one end, or of the middle, in logarithms of the wait: by how much the truth was on the other
  // side of it.
  struct End {
    std::deque<double> past;
    // The part of the past beyond which the next end is put. It gives way when too many starts are
    // outside, so that in the long run their part is as promised whatever changes.
    double part = 0.1;
  };
  static double correction(const End& end);
  static void learn(End& end, double error, bool missed);

  End low_;
  End high_;
  End middle_{.past = {}, .part = 0.5};
};

}  // namespace muster
