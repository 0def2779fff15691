#pragma once

// How fast a job trains under one limit, from what it says of its steps. Whoever watches the job
// calls begin() when the limit holds, take() with each thing it says, and asks known() or rate().

#include <optional>
#include <vector>

#include "base/types/time.h"

namespace muster {

// By the watcher's clock: until then the job had done so many steps.
struct Observation {
  Duration at;
  double step = 0;
};

struct Rate {
  double steps_per_second = 0;
  double error = 0;  // Half of the 95 % confidence interval, as a part of the rate.
};

struct MeterOptions {
  // Limits of CPU are dealt out every 100 ms, and jobs load ahead: shorter times tell nothing.
  Duration bin = Duration::micros(300'000);
  Duration settle = Duration::micros(500'000);  // After a change, and after the first word.
  Duration least = Duration::micros(2'500'000);
  Duration most = Duration::seconds(15);
  double wanted = 0.02;  // Error at which a rate is known well enough.
};

class RateMeter {
 public:
  explicit RateMeter(MeterOptions options = {}) : options_(options) {}

  void begin(Duration now);
  // Observations that go back in time or in steps begin it anew: the job was restarted.
  void take(const Observation& observation);

  // Long enough and well enough, or as long as it may take and at all.
  bool known(Duration now) const;
  // What is left when the beginning is dropped in which the job was still getting used to the limit
  // (the cut that makes the rest most certain, as in simulation studies: White's MSER). Nothing
  // with less than two bins.
  std::optional<Rate> rate() const;
  std::optional<Duration> last_word() const { return last_word_; }

 private:
  struct Bin {
    double seconds = 0;
    double steps = 0;
  };

  MeterOptions options_;
  Duration since_;
  std::optional<Duration> last_word_;  // Since begin().
  std::optional<Observation> open_;    // Where the bin at hand begins.
  std::vector<Bin> bins_;
};

}  // namespace muster
