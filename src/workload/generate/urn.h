#pragma once

// Draws that keep to their shares. Philly's jobs come in campaigns of up to hundreds; with plain
// draws a workload of 80,000 jobs would be 250 accidents, and its tenants, sizes and run times
// nothing like those asked for. An urn is the likelier to give a kind, the further that is behind.

#include <cstddef>
#include <span>
#include <vector>

#include "base/types/random.h"

namespace muster {

class Urn {
 public:
  struct Kind {
    double share = 0;  // Of all jobs; any unit.
    double lot = 1;    // Jobs that a draw of it brings, on average.
  };

  // `slack` is the jobs by which all kinds together may run ahead: much of it makes draws free,
  // little makes them take turns. Some share must be above zero, and so must slack and lots.
  Urn(std::vector<Kind> kinds, double slack);

  // Which kind is next. `liking`, if given, is a factor above zero for each kind.
  std::size_t draw(Random& random, std::span<const double> liking = {}) const;
  // So many jobs of it there were.
  void count(std::size_t kind, double jobs);

  // Of a draw, when all kinds are where they should be.
  double mean_lot() const;

 private:
  double weight(std::size_t kind, std::span<const double> liking) const;

  std::vector<Kind> kinds_;  // Shares add up to 1.
  std::vector<double> given_;
  double slack_;
  double total_ = 0;
};

}  // namespace muster
