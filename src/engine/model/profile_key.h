#pragma once

// The name under which the measured speed of a kind of job is kept.

#include <string>

#include "engine/model/job_request.h"

namespace muster {

// Jobs of one user, name and command are alike: a sweep is measured once.
std::string profile_key(const std::string& user, const JobRequest& request);

}  // namespace muster
