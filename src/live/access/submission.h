#pragma once

// The rules for a new job: its tenant and its priority. The manager applies them before it writes
// the job to the journal, so jobs that exist are not affected when the rules change.

#include "api/port/service.h"
#include "base/types/result.h"
#include "engine/model/job_request.h"

namespace muster {

// Sets the tenant of a request without one to the caller's default tenant, if the caller has one.
void set_default_tenant(const Caller& caller, JobRequest& request);

// Returns kForbidden if the caller may not submit to the tenant of the request, and kInvalid if its
// priority is outside the caller's range.
MaybeError check_submission(const Caller& caller, const JobRequest& request);

// Returns kForbidden if the caller may only look.
MaybeError check_not_viewer(const Caller& caller);

}  // namespace muster
