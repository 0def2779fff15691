#pragma once

// A job's request out of what the user typed: flags over a job file, a script or a command. Pure
// but for the file it reads; used by `muster submit`.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/live_options.h"
#include "client/where.h"
#include "request/job_request.h"

namespace muster {

struct SubmitRequest {
  JobRequest request;              // Completed and checked.
  std::vector<std::string> notes;  // For the user, a line each.
};

// `cwd` is where the caller stands.
Result<SubmitRequest> make_request(const SubmitOptions& options, const std::string& cwd,
                                   const Environment& env);

// Parts "submit --gpus 2 -- python a.py -x" and "submit --gpus 2 run.sh -x": what the command or
// the script takes is none of our options. `flags` are those of our options that take no value.
struct SubmitWords {
  std::vector<std::string> options;  // With "submit" first.
  std::vector<std::string> tail;
  bool command = false;  // There was a "--" in front of the tail.
};
SubmitWords part_words(std::span<const std::string> words, std::span<const std::string_view> flags);

}  // namespace muster
