#pragma once

// Generated workloads that test start forecasts, with the distributions they are drawn from. A
// forecast that samples from these distributions has the smallest possible error (the oracle).

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "sim/forecast/replanned_engine.h"
#include "sim/forecast/runtime_sampler.h"

namespace muster {

struct ForecastWorkload {
  const char* name;
  std::size_t jobs;
  double load;             // Requested GPU time per GPU time of the cluster.
  double day = 0;          // Amplitude of the arrival rate over a day, as a fraction of the mean.
  double spread = 0.8;     // Standard deviation of the logarithm of run times in a class.
  double users_apart = 1;  // The same for the medians of the classes.
  std::size_t users = 20;
  double shift = 1;      // Factor of the run times in the second half.
  double burst = 0;      // Share of the arrivals that are bursts of 10 to 50 jobs.
  double array = 0;      // Share of the arrivals that are arrays of 5 to 40 equal jobs.
  double cancelled = 0;  // Cancellations of a waiting job per hour.
};

// The ten workloads of the test.
const std::vector<ForecastWorkload>& forecast_workloads();
constexpr int kForecastGpus = 32;  // The cluster: 8x4.

// Draws the jobs of a workload, and serves as the oracle of its forecasts.
class ForecastLaw : public FutureModel {
 public:
  ForecastLaw(const ForecastWorkload& workload, std::uint64_t seed);

  std::vector<FutureArrival> history();

  Future draw(const Engine& engine, Instant now, Instant until, Random& random) const override;

 private:
  std::vector<FutureArrival> draw_jobs(Instant from, Instant until, std::size_t limit,
                                       Random& random, std::uint64_t& next_array) const;
  JobSpec draw_spec(Random& random) const;
  double median(const JobSpec& spec) const;
  Duration draw_work(const JobSpec& spec, Instant submitted, Random& random) const;
  Duration draw_patience(Random& random) const;
  double mean_gpu_seconds() const;

  ForecastWorkload workload_;
  std::uint64_t seed_;
  double jobs_per_second_ = 0;   // Each arrival is a job, a burst or an array.
  double per_arrival_ = 1;       // Mean number of jobs per arrival.
  std::vector<double> medians_;  // By user and name.
  Instant half_;                 // The shift of the run times.
};

}  // namespace muster
