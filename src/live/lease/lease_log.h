#pragma once

// The output of a lease as the API's server reads it. The manager calls it when a log is asked for.

#include <cstdint>
#include <memory>
#include <string>

#include "api/port/log_source.h"
#include "engine/roster/input.h"
#include "exec/lease/lease_files.h"

namespace muster {

// The name of a lease's record on the server of that rank.
std::string part_name(LiveId id, std::uint32_t lease, std::uint32_t node = 0);

// Opens the output of a part, a name as lease_name() makes it. Neither its record nor its output
// need exist yet. Any thread.
std::unique_ptr<LogSource> open_lease_log(const LeaseFiles& files, const std::string& part);

}  // namespace muster
