#pragma once

// Random draws whose totals stay close to given shares. Philly's jobs come in campaigns of up to
// hundreds of jobs. With independent draws, 80,000 jobs would depend on about 250 draws, and the
// mix of tenants, sizes and run times would be far off. Here the probability of a kind grows with
// the number of jobs that it is behind its share.

#include <cstddef>
#include <span>
#include <vector>

#include "base/types/random.h"

namespace muster {

class BalancedSampler {
 public:
  struct Kind {
    double share = 0;  // Share of all jobs; only ratios matter.
    double lot = 1;    // Mean number of jobs per draw of this kind.
  };

  // `slack` is the number of jobs by which all kinds together may deviate. A large slack makes
  // draws almost independent; a small one makes kinds alternate. REQUIRES: slack and all lots are
  // above 0, no share is negative and at least one is above 0.
  BalancedSampler(std::vector<Kind> kinds, double slack);

  // Returns the next kind. `liking` is empty, or has a factor above 0 for each kind.
  std::size_t draw(Random& random, std::span<const double> liking = {}) const;
  // Records that `jobs` jobs of this kind were created.
  void count(std::size_t kind, double jobs);

  // Returns the mean number of jobs per draw if all kinds match their shares.
  double mean_lot() const;

 private:
  double weight(std::size_t kind, std::span<const double> liking) const;

  std::vector<Kind> kinds_;  // Shares add up to 1.
  std::vector<double> given_;
  double slack_;
  double total_ = 0;
};

}  // namespace muster
