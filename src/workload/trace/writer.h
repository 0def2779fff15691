#pragma once

// Writes traces as text, in Muster's own format and in Batsim's. `muster trace` uses it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/profile.h"
#include "workload/trace/trace.h"

namespace muster {

// Returns the trace in Muster's own CSV. Reading it returns the same jobs, with times to the
// microsecond; only line breaks in names become blanks. Omits the notes, and optional columns that
// no job uses.
std::string write_trace_csv(const Trace& trace);

// Returns the jobs in the format of Batsim's jobs.csv, without the columns that only a run fills
// (start, end, allocated nodes). The profile is the model name, or "unknown". A missing estimate is
// -1, as in Batsim.
std::string write_batsim_csv(const Trace& trace);

// Number of jobs that have a value in an optional column of Muster's own format.
struct ColumnUse {
  std::string_view name;
  std::int64_t jobs = 0;
};
std::vector<ColumnUse> column_uses(const Trace& trace);

// Removes models without a profile from the jobs, adds a note and returns the number of these jobs.
// Call it before writing a trace from another format: Muster's own format rejects such models.
std::size_t forget_unprofiled_models(Trace& trace, const ProfileTable& profiles);

}  // namespace muster
