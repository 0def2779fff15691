#pragma once

// The engine's decisions as JSON for the journal. Most entries have few, so the form is compact: an
// array with one element per engine step. Each element is an array of at most two items:
//   PLAN    0 if the step made no plan, else an array of changes. A change is
//           [row, node, slots, cpu_milli, mem_mib, storage_kbps, node, ...]; [row] stops the lease.
//   OTHERS  an object: rejected jobs, failed attempts and closed nodes; omitted if there are none.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/types/result.h"
#include "engine/core/decisions.h"

namespace muster {

nlohmann::json decisions_json(std::span<const Decisions> steps);

// Errors: kCorrupt for values that no engine writes. Engine::repeat() checks that rows and nodes
// exist.
Result<std::vector<Decisions>> read_decisions(const nlohmann::json& steps);

}  // namespace muster
