#pragma once

// How long a job is believed to run. Where the belief comes from is part of every result.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/core/past_run_times.h"
#include "engine/model/job_spec.h"

namespace muster {

// "oracle": the truth, supplied by the simulator. "noisy:SIGMA": the truth times a log-normal
// error. "user": what the user said. "history": learnt from jobs that ended. "progress": the same
// until a job has said enough of itself, then by that; whoever drives the engine sees to it
// (JobForeseen).
struct EstimateSource {
  enum class Kind : std::uint8_t { kOracle, kNoisy, kUser, kHistory, kProgress };
  Kind kind = Kind::kOracle;
  double sigma = 0;  // kNoisy only.

  std::string text() const;
};
Result<EstimateSource> parse_estimate_source(std::string_view text);

// Turns a submitted spec into the engine's belief. For all kinds but history and progress the
// driver supplies the number in JobSpec::estimate. For those two it is the median run time of the
// last jobs that ended of the same user, name and size; failing those, of the same user and size;
// then of the same size; then of all. Where nobody gave a number and nothing is known yet:
// kDefaultEstimate.
class Estimator {
 public:
  static constexpr Duration kDefaultEstimate = Duration::seconds(3600);

  explicit Estimator(EstimateSource::Kind kind) : kind_(kind) {}

  Duration estimate(const JobSpec& spec) const;
  // A job ended after this much work (time at the reference share).
  void learn(const JobSpec& spec, Duration work);

 private:
  static constexpr std::size_t kRemembered = 31;  // Odd, so the median is one of them.

  bool learns() const {
    return kind_ == EstimateSource::Kind::kHistory || kind_ == EstimateSource::Kind::kProgress;
  }

  EstimateSource::Kind kind_;
  PastRunTimes past_{kRemembered};
};

}  // namespace muster
