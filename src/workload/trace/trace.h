#pragma once

// A workload: jobs in order of arrival, with what only the simulator may know (how long each really
// runs). Readers and generators make one; the simulator and `muster trace info` use it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text/name_table.h"
#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

struct TraceJob {
  std::string id;  // As the file names it.
  Instant submit;
  Duration duration;            // True run time at the reference share. Zero is allowed.
  Duration user_estimate;       // What the user said it would take; zero: nothing said.
  std::int64_t iterations = 0;  // Total steps, where the file gives them; otherwise 0.
  std::int32_t gpus = 1;
  std::int32_t fewest = 0;  // Of an elastic job, as in JobSpec; zero: not elastic.
  std::int32_t most = 0;
  std::uint32_t model = 0;     // In Trace::models; "" when unknown.
  std::uint32_t user = 0;      // In Trace::users.
  std::uint32_t tenant = 0;    // In Trace::tenants.
  std::uint32_t name = 0;      // In Trace::names: the experiment it belongs to.
  std::uint32_t gpu_type = 0;  // In Trace::gpu_types; "" for any.

  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

struct Trace {
  std::string source;          // File name or "generated".
  std::string format;          // As listed by trace_formats().
  std::vector<TraceJob> jobs;  // Ascending by submit; ties as in the file.
  NameTable models, users, tenants, names, gpu_types;
  // Everything a reader left out or changed, one sentence with a count each ("3 jobs with zero
  // GPUs left out"). Shown to the user, never silent.
  std::vector<std::string> notes;
};

// Numbers the names anew in the order in which the jobs use them, as if the file had been written
// in that order. Names that no job uses are dropped.
void renumber_names(Trace& trace);

}  // namespace muster
