#pragma once

// The facts of a note as a JSON object, for the events that users read.

#include <string>

#include "engine/roster/roster_output.h"

namespace muster {

// Empty: there are none.
std::string facts_json(const NoteFacts& facts);

}  // namespace muster
