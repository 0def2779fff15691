#pragma once

// Writes and reads the state of a roster as one line of JSON, for the snapshots of the journal. The
// reader also accepts the formats of earlier versions.

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "engine/roster/roster_state.h"

namespace muster {

std::string roster_json(RosterState state);
Result<RosterState> read_roster(std::string_view json);

}  // namespace muster
