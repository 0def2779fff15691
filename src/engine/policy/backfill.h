#pragma once

// EASY backfilling: the oldest job that does not fit gets a reservation from the estimates; younger
// ones may start now only if, by the estimates, that does not delay it.

#include "engine/policy/traits.h"

namespace muster {

class Backfill final : public PolicyWith<kReservingTraits> {
 public:
  Rank rank(const JobFacts& job) const override { return {job.submitted.us()}; }
};

}  // namespace muster
