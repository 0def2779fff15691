#pragma once

// The output of a lease for the API. The manager opens it when a user requests a log.

#include <cstdint>
#include <memory>
#include <string>

#include "api/port/log_source.h"
#include "engine/roster/input.h"
#include "exec/lease/lease_files.h"

namespace muster {

// Returns the name of a lease's record on the node with rank `node`.
std::string part_name(LiveId id, std::uint32_t lease, std::uint32_t node = 0);

// Opens the output of a part; `part` is a result of part_name(). Neither the record nor the output
// needs to exist yet. Any thread.
std::unique_ptr<LogSource> open_lease_log(const LeaseFiles& files, const std::string& part);

}  // namespace muster
