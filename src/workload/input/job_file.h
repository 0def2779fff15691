#pragma once

// Reads a job as a user writes it down: YAML of ten lines (docs/api.md, "request"), or the same as
// JSON. `muster submit FILE` calls it once, before anything is sent.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "engine/model/job_request.h"

namespace muster {

// `cwd` is where the caller stands, an absolute path: where the job runs if its file does not say,
// and what a relative `cwd` in the file begins from. Refuses what read_request() refuses, as
// "FILE:LINE: field: why". Completed and checked.
Result<JobRequest> read_job_file(const std::string& path, const std::string& cwd);

// The same from memory; `name` stands for the file in messages.
Result<JobRequest> parse_job_file(std::string_view text, const std::string& name,
                                  const std::string& cwd);

}  // namespace muster
