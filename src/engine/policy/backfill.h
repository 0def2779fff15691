#pragma once

// EASY backfilling. The oldest job that does not fit gets a reservation, computed from the
// estimates. Younger jobs may start only if, by the estimates, they do not delay it.

#include "engine/policy/traits.h"

namespace muster {

class Backfill final : public PolicyWith<kReservingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
