#pragma once

// Key under which the measured speed of similar jobs is stored.

#include <string>

#include "engine/model/job_request.h"

namespace muster {

// Returns the same key for jobs with equal user, name and command, so a sweep is measured once.
std::string profile_key(const std::string& user, const JobRequest& request);

}  // namespace muster
