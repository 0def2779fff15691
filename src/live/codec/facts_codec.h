#pragma once

// Writes the facts of a note as a JSON object, for the events that users read.

#include <string>

#include "engine/roster/roster_output.h"

namespace muster {

// Returns an empty string if there are no facts.
std::string facts_json(const NoteFacts& facts);

}  // namespace muster
