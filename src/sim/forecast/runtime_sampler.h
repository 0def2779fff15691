#pragma once

// Samples the unknown future of the cluster: how much work each job has left, which jobs arrive,
// and when users cancel waiting jobs. A forecast draws one sample per lookahead simulation.

#include <cstddef>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "engine/core/engine.h"
#include "engine/model/job_spec.h"
#include "sim/forecast/arrival_model.h"
#include "sim/forecast/lookahead.h"
#include "sim/forecast/run_time_model.h"

namespace muster {

// A sample of the future.
struct Future {
  std::vector<Duration> left;           // Work left, indexed by JobId.
  std::vector<FutureArrival> arrivals;  // In order of time.
  double cancel_rate = 0;  // Cancellations per second of waiting, of jobs that never ran.
};

class FutureModel {
 public:
  virtual ~FutureModel() = default;
  virtual Future draw(const Engine& engine, Instant now, Instant until, Random& random) const = 0;
};

class RuntimeSampler : public FutureModel {
 public:
  static constexpr std::size_t kArrivals = ArrivalModel::kRemembered;

  // Records a submitted job. Calls must be in order of time.
  void record_arrival(Instant at, const JobSpec& spec) { arrivals_.record(at, spec); }
  // Records that a job ended after this much work (time at the reference share).
  void learn(const JobSpec& spec, Duration work) { work_.learn(spec, work); }
  // Records that a job has waited this long for its first start, or until it was cancelled.
  void record_wait(Duration waited, bool cancelled);

  Future draw(const Engine& engine, Instant now, Instant until, Random& random) const override;
  // Returns the medians of the work left, indexed by JobId. Deterministic.
  std::vector<Duration> likely_of_all(const Engine& engine, Instant now) const;

  const RunTimeModel& work() const { return work_; }
  const ArrivalModel& arrivals() const { return arrivals_; }

 private:
  RunTimeModel work_;
  ArrivalModel arrivals_;
  double waited_s_ = 0;  // Both forget earlier jobs.
  double cancelled_ = 0;
};

}  // namespace muster
