#pragma once

// Estimates of job run times. Every result names the source of its estimates.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "base/types/time.h"
#include "engine/core/past_run_times.h"
#include "engine/model/job_spec.h"

namespace muster {

// Where estimates come from (--estimates):
//   oracle: the actual run time, supplied by the simulator.
//   noisy:SIGMA: the actual run time times a log-normal error.
//   user: the estimate that the user gave.
//   history: learned from jobs that completed.
//   progress: as history, until the driver predicts the job from its progress (JobPredicted).
struct EstimateSource {
  enum class Kind : std::uint8_t { kOracle, kNoisy, kUser, kHistory, kProgress };
  Kind kind = Kind::kOracle;
  double sigma = 0;  // Standard deviation of the log of the error; kNoisy only.

  std::string text() const;
};
Result<EstimateSource> parse_estimate_source(std::string_view text);

// Estimates the work of submitted jobs. The driver supplies the number in JobSpec::estimate, except
// for kHistory and kProgress. These two use the median run time of the latest completed jobs of the
// same user, name and size. If there are none, they use jobs of the same user and size, then of the
// same size, then all jobs. Without a number and without data the estimate is kDefaultEstimate.
class Estimator {
 public:
  static constexpr Duration kDefaultEstimate = Duration::seconds(3600);

  explicit Estimator(EstimateSource::Kind kind) : kind_(kind) {}

  Duration estimate(const JobSpec& spec) const;
  // Returns the estimated remaining work of a job that has done its whole estimate and still runs:
  // the median of similar jobs that ran longer. If there are none, as much as it has done; at least
  // one second. (Correcting expired predictions: Tsafrir, Etsion and Feitelson, TPDS 2007.)
  Duration remaining_after(const JobSpec& spec, Duration done) const;
  // Records a completed job and its work (time at the reference share). kHistory and kProgress
  // only.
  void learn(const JobSpec& spec, Duration work);

 private:
  static constexpr std::size_t kRemembered = 31;  // Odd, so that the median is one of the values.

  bool learns() const {
    return kind_ == EstimateSource::Kind::kHistory || kind_ == EstimateSource::Kind::kProgress;
  }

  EstimateSource::Kind kind_;
  PastRunTimes past_{kRemembered};
};

}  // namespace muster
