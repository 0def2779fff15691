#pragma once

// Which jobs of a log have failed, and of what, when only their sizes and run times are known. The
// table of reasons says how often each reason strikes and how late; a job that ran for a minute is
// likelier to have had a syntax error, one that ran for days a broken checkpoint. The law turns the
// table around for a given set of run times.

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

// For jobs of one size class of which so many are to fail.
class FailureLaw {
 public:
  // `ascending` are the run times of all the jobs, at least one; 0 <= failing <= 0.9.
  FailureLaw(SizeClass size, double failing, std::span<const Duration> ascending);

  // What the job at this position of `ascending` failed of, if it did.
  std::optional<Reason> draw(std::size_t position, Random& random) const;

 private:
  using Weights = std::array<double, kReasonCount>;
  void weigh(const Weights& wanted, std::span<const Duration> ascending);
  void calibrate(const Weights& wanted);

  std::size_t jobs_;
  // Probabilities of each reason in equal parts of the jobs, by run time.
  std::vector<Weights> cells_;
};

// How often jobs that failed of it were tried, on average.
double tries_of(const ReasonInfo& info);

}  // namespace muster
