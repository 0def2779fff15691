#pragma once

// Reads a batch script written for Slurm, so that it can be submitted to Muster as it is. What
// Muster decides itself or does not have is passed over and said in a note; what would change
// what the job does, such as a dependency of a kind Muster lacks, is refused. `muster submit`
// calls it once for a script.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/job_request.h"

namespace muster {

struct SbatchJob {
  JobRequest request;              // Completed and checked.
  std::vector<std::string> notes;  // For the user, a line each: "run.sh:3: --mem: ...".
  // Slurm hands the submitter's environment to the job unless told otherwise. It is the caller who
  // has it: all of it, or the variables named.
  bool whole_environment = true;
  std::vector<std::string> variables;
};

// The command is the script's shell with the whole text after "-c", so the file may change or go
// once it is submitted; then the script's name and `args`. Without a word on GPUs it gets one.
// `name` is the script's path; `cwd`, absolute, is where the job runs unless the script says.
Result<SbatchJob> parse_sbatch(std::string_view text, const std::string& name,
                               std::span<const std::string> args, const std::string& cwd);

// A time as Slurm takes it: "min", "min:s", "h:min:s", "d-h", "d-h:min", "d-h:min:s". Zero: "0",
// "UNLIMITED" and "INFINITE".
Result<Duration> parse_slurm_time(std::string_view text);

}  // namespace muster
