#pragma once

// Decides what a caller may see and change, from the caller's rights and the owner of a job. A
// caller without rights (Caller::rights is null) is an operator, or a user who sees only their own
// jobs. Any thread.

#include <string_view>

#include "api/port/rights.h"
#include "api/port/service.h"

namespace muster {

Role role_of(const Caller& caller);

// Compares uids. Compares names only if the uid of the owner is unknown.
bool is_own(const Caller& caller, const JobOwner& owner);

// Whether the caller may see the job: its row, page, output and events.
bool may_see(const Caller& caller, const JobOwner& owner);
// Whether the caller may see all jobs.
bool may_see_all(const Caller& caller);

// Whether the caller may cancel, hold, release and retry the job.
bool may_change(const Caller& caller, const JobOwner& owner);

// Whether the caller may read the names of a job and its user where the job is only counted.
bool may_name(const Caller& caller, const JobOwner& owner);
bool may_name_all(const Caller& caller);

// Whether the caller administers this tenant.
bool is_admin_of(const Caller& caller, std::string_view tenant);
// Whether the caller may submit to this tenant. Empty: the default tenant.
bool may_submit_to(const Caller& caller, std::string_view tenant);
// The priorities that the caller may request in this tenant.
PriorityRange priorities_of(const Caller& caller, std::string_view tenant);

}  // namespace muster
