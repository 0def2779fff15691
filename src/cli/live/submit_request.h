#pragma once

// Builds a job request from the command line: a job file, a script or a command, with options that
// override its fields. `muster submit`, `plan` and `profile` use it.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/client/manager_address.h"
#include "cli/live/live_options.h"
#include "engine/model/job_request.h"

namespace muster {

struct SubmitRequest {
  JobRequest request;              // Completed and checked.
  std::vector<std::string> notes;  // Messages for the user, one line each.
};

// Builds the request. `cwd` is the caller's working directory. Only reads the named file.
Result<SubmitRequest> make_request(const SubmitOptions& options, const std::string& cwd,
                                   const Environment& env);

// Builds the request with the working directory and environment of this process.
Result<SubmitRequest> make_request_here(const SubmitOptions& options);

// Splits "submit --gpus 2 -- python a.py -x" and "submit --gpus 2 run.sh -x" into Muster's own
// options and the rest, because the rest may contain options of the command or script. `flags` are
// the options of Muster that take no value.
struct SubmitWords {
  std::vector<std::string> options;  // With "submit" first.
  std::vector<std::string> tail;
  bool command = false;  // "--" preceded the tail.
};
SubmitWords part_words(std::span<const std::string> words, std::span<const std::string_view> flags);

}  // namespace muster
