#pragma once

// Traces back to text, in our own format and in that of Batsim.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/profile.h"
#include "workload/trace/trace.h"

namespace muster {

// Reads back as the same jobs: times to the microsecond, names as they were (but for line breaks,
// which become blanks). Optional columns that no job uses are left out. Notes are not written.
std::string write_trace_csv(const Trace& trace);

// The jobs as Batsim's jobs.csv lists them, in as far as they are known before anything has run: no
// start, end or place. A profile is named after the model ("unknown" without one), and a time
// nobody asked for is -1, as there.
std::string write_batsim_csv(const Trace& trace);

// In how many jobs something stands in a column of our format that may be left out.
struct ColumnUse {
  std::string_view name;
  std::int64_t jobs = 0;
};
std::vector<ColumnUse> column_uses(const Trace& trace);

// Our format refuses models that have no profile, other formats have them: this forgets those, says
// so in a note and returns the number of jobs. To be called before writing a trace that was read
// from another format.
std::size_t forget_unprofiled_models(Trace& trace, const ProfileTable& profiles);

}  // namespace muster
