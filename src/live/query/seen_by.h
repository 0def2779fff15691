#pragma once

// The jobs that a caller may see, as a filter of rows.

#include <optional>

#include "api/port/service.h"
#include "live/store/job_reader.h"

namespace muster {

// Returns nullopt if the caller may see all jobs.
std::optional<SeenBy> seen_by(const Caller& caller);

}  // namespace muster
