#pragma once

// Demands of jobs, shared by the mechanisms that use profiles.

#include "engine/core/mechanism.h"

namespace muster {

// Returns Synergy's best-case demand: the profile's ideal point per GPU, limited to what a node can
// give a job of this size. A job that is larger than a node gets at most the proportional share,
// because it fills its nodes. Without a profile, or if the ideal is slower than the proportional
// share, returns the proportional share. JobSpec::least is always included.
Demand best_demand(const Cluster& cluster, const Ask& ask);

// True if the demand exceeds this share per GPU in any resource.
bool exceeds(const Demand& demand, const Resources& share);

}  // namespace muster
