#pragma once

// A job's request out of what the user typed: flags over a job file, a script or a command. Pure
// but for the file it reads; used by `muster submit`.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/client/where.h"
#include "cli/live/live_options.h"
#include "engine/model/job_request.h"

namespace muster {

struct SubmitRequest {
  JobRequest request;              // Completed and checked.
  std::vector<std::string> notes;  // For the user, a line each.
};

// `cwd` is where the caller stands.
Result<SubmitRequest> make_request(const SubmitOptions& options, const std::string& cwd,
                                   const Environment& env);

// The same in the directory and with the environment of this process.
Result<SubmitRequest> make_request_here(const SubmitOptions& options);

// Parts "submit --gpus 2 -- python a.py -x" and "submit --gpus 2 run.sh -x": what the command or
// the script takes is none of our options. `flags` are those of our options that take no value.
struct SubmitWords {
  std::vector<std::string> options;  // With "submit" first.
  std::vector<std::string> tail;
  bool command = false;  // There was a "--" in front of the tail.
};
SubmitWords part_words(std::span<const std::string> words, std::span<const std::string_view> flags);

}  // namespace muster
