#pragma once

// Traces back to text, in our own format.

#include <cstddef>
#include <string>

#include "model/profile.h"
#include "trace/trace.h"

namespace muster {

// Reads back as the same jobs: times to the microsecond, names as they were (but for line breaks,
// which become blanks). Optional columns that no job uses are left out. Notes are not written.
std::string write_trace_csv(const Trace& trace);

// Our format refuses models that have no profile, other formats have them: this forgets those, says
// so in a note and returns the number of jobs. To be called before writing a trace that was read
// from another format.
std::size_t forget_unprofiled_models(Trace& trace, const ProfileTable& profiles);

}  // namespace muster
