#pragma once

// Values derived from the inputs of a run before it begins.

#include "base/types/time.h"
#include "engine/model/profile.h"
#include "sim/run/simulator.h"
#include "workload/trace/trace.h"

namespace muster {

// Returns the profiles as the imitated simulator reads them.
ProfileTable profiles_for(const ProfileTable& profiles, Compat compat);

// Returns when the first round begins.
Instant first_round(const Trace& trace, const SimOptions& options);

}  // namespace muster
