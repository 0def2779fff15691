#pragma once

// The owner of a job, from the roster or from a row. The texts must outlive the result.

#include "api/port/permissions.h"
#include "engine/roster/input.h"
#include "engine/roster/live_job.h"
#include "live/store/rows.h"

namespace muster {

inline JobOwner owner_of(const LiveJob& job) { return {job.user, job.uid, job.tenant}; }
inline JobOwner owner_of(const SubmitInput& input) { return {input.user, input.uid, input.tenant}; }
// Rows of earlier versions have no uid.
JobOwner owner_of(const JobRow& row);

}  // namespace muster
