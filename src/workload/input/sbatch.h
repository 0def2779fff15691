#pragma once

// Converts a Slurm batch script to a job request, so that users can submit it unchanged. Options
// that Muster does not support or decides itself are ignored, with a note. An option whose loss
// would change the result of the job, such as an unsupported dependency, is an error.
// `muster submit` calls it once per script.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/job_request.h"

namespace muster {

struct SbatchJob {
  JobRequest request;              // Complete and validated.
  std::vector<std::string> notes;  // Lines for the user, such as "run.sh:3: --mem: ...".
  // By default, Slurm passes the environment of the submitter to the job. The caller must add it to
  // the request: all variables, or only those in `variables`.
  bool whole_environment = true;
  std::vector<std::string> variables;
};

// The command is: the shell of the script, "-c", the text of the script, its name and `args`. So
// the file may change after the submission. A script without GPU options gets one GPU. `name` is
// the path of the script; `cwd` is the default working directory, an absolute path.
Result<SbatchJob> parse_sbatch(std::string_view text, const std::string& name,
                               std::span<const std::string> args, const std::string& cwd);

// Parses a time in Slurm's formats: "min", "min:s", "h:min:s", "d-h", "d-h:min", "d-h:min:s".
// Returns zero for "0", "UNLIMITED" and "INFINITE".
Result<Duration> parse_slurm_time(std::string_view text);

}  // namespace muster
