#pragma once

// A workload: jobs in order of arrival, with their actual run times, which schedulers must not see.
// Readers and generators create it; the simulator and `muster trace` use it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text/name_table.h"
#include "base/types/id.h"
#include "base/types/time.h"

namespace muster {

struct TraceJob {
  std::string id;  // The id in the file, or the row number from 0.
  Instant submit;
  Duration duration;            // Actual run time at the reference share. Zero is allowed.
  Duration user_estimate;       // Run time estimated by the user; zero: none.
  std::int64_t iterations = 0;  // Total number of steps; 0: unknown.
  std::int32_t gpus = 1;
  std::int32_t fewest = 0;     // Minimum GPUs of an elastic job, as in JobSpec; 0: not elastic.
  std::int32_t most = 0;       // Maximum GPUs of an elastic job, as in JobSpec; 0: not elastic.
  std::uint32_t model = 0;     // Index in Trace::models; 0 ("") if unknown.
  std::uint32_t user = 0;      // Index in Trace::users.
  std::uint32_t tenant = 0;    // Index in Trace::tenants.
  std::uint32_t name = 0;      // Index in Trace::names: the experiment of the job.
  std::uint32_t gpu_type = 0;  // Index in Trace::gpu_types; 0 ("") means any type.

  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

struct Trace {
  std::string source;          // File name or "generated".
  std::string format;          // A name from trace_formats().
  std::vector<TraceJob> jobs;  // Ascending by submit; ties in file order.
  NameTable models, users, tenants, names, gpu_types;
  // One sentence with a count for each kind of skipped row or changed value ("skipped: 3 rows that
  // request no GPU"). Commands print all of them.
  std::vector<std::string> notes;
};

// Renumbers the names in the order in which the jobs use them, and drops unused names. The result
// is the same as for a file with the jobs in this order.
void renumber_names(Trace& trace);

}  // namespace muster
