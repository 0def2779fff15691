#pragma once

// Draws failures and their reasons for jobs with given sizes and run times. The table of reasons
// (reasons.h) has the frequency of each reason and the time to failure. A job that ran for a minute
// is more likely to have had a syntax error; one that ran for days, a broken checkpoint. This class
// computes the probabilities of reasons for a given set of run times. past_outcomes.cc uses it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types/random.h"
#include "base/types/time.h"
#include "engine/failure/reasons.h"

namespace muster {

// Draws failures for the jobs of one size class.
class FailureLaw {
 public:
  // `failing` is the share of jobs that fail; `ascending` are the run times of all jobs, sorted.
  // REQUIRES: 0 <= failing <= 0.9, and there is at least one job.
  FailureLaw(SizeClass size, double failing, std::span<const Duration> ascending);

  // Draws the reason for the job at this position of `ascending`, or nullopt if it does not fail.
  std::optional<Reason> draw(std::size_t position, Random& random) const;

 private:
  using Weights = std::array<double, kReasonCount>;
  void weigh(const Weights& wanted, std::span<const Duration> ascending);
  void calibrate(const Weights& wanted);

  std::size_t jobs_;
  // Probability of each reason. Each cell covers an equal number of jobs, by ascending run time.
  std::vector<Weights> cells_;
};

// Returns the mean number of attempts of jobs that failed for this reason.
double tries_of(const ReasonInfo& info);

}  // namespace muster
