#pragma once

// What a job would ask for: shared by the mechanisms that look at profiles.

#include "engine/core/mechanism.h"

namespace muster {

// Synergy's best-case demand: the profile's ideal point per GPU, cut to what a server can give a
// job of this size. A job on more GPUs than a server has gets no more than the proportional share,
// since it fills its servers. Where the ideal would be slower than the proportional share, and
// where nothing is known of the job, the demand is the proportional share. What the job itself asks
// for at the least is in it either way.
Demand best_demand(const Cluster& cluster, const Ask& ask);

// True if the demand wants more of anything than this share per GPU.
bool exceeds(const Demand& demand, const Resources& share);

}  // namespace muster
