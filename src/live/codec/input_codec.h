#pragma once

// Writes and reads the inputs and decisions of one roster step: the JSON of a journal entry. The
// manager writes entries; recovery and the past queries read them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/core/decisions.h"
#include "engine/roster/input.h"

namespace muster {

// One step of the roster.
struct JournalStep {
  std::string before;  // The roster's digest before the step. A replay must compute the same.
  std::vector<Input> inputs;
  // The engine's decisions. No value: written by an older version, or too large for an entry.
  std::optional<std::vector<Decisions>> decided = {};
};

std::string step_json(const JournalStep& step);
Result<JournalStep> read_step(std::string_view json);

// Returns an upper bound of the size of the input in the journal, in bytes.
std::size_t bulk_of(const Input& input);

}  // namespace muster
