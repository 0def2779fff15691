#pragma once

// Reads a job file in YAML or JSON (docs/reference/api.md, "request"). `muster submit FILE` calls
// it once, before it sends anything.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "engine/model/job_request.h"

namespace muster {

// Returns a complete, validated request. `cwd` is the absolute working directory of the caller. It
// is the default for the job's `cwd` and the base of a relative one. Errors are those of
// read_request(), as "FILE:LINE: field: why".
Result<JobRequest> read_job_file(const std::string& path, const std::string& cwd);

// Like read_job_file(), from memory. `name` is used as the path in messages.
Result<JobRequest> parse_job_file(std::string_view text, const std::string& name,
                                  const std::string& cwd);

}  // namespace muster
