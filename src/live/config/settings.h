#pragma once

// Converts the configuration and the list of nodes to the settings of the roster. Everything that
// affects the roster's decisions is in one text, which is stored with its snapshots. A journal is
// replayed with the settings it was written under, even if the operator has changed them since.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/roster/roster.h"
#include "exec/lease/executor.h"
#include "live/config/node_caveats.h"
#include "live/config/serve_file.h"

namespace muster {

// Returns the settings as canonical JSON: equal texts are equal settings.
// Errors: kInvalid if the profiles file is unreadable or empty.
Result<std::string> settings_text(const ServeFile& file, std::span<const NodeDescription> nodes);

// Parses a settings text. Errors: kInvalid for unknown scheduler parts, quotas above the cluster's
// capacity, and schedulers that the live manager cannot run; kCorrupt if it is not such a text.
Result<RosterSettings> roster_settings(std::string_view text);

// Human-readable labels: "3 nodes, 24 GPUs"; the name of a scheduler that is not composed of parts
// (otherwise empty); that name, or the parts: "srtf, tune, consolidate".
std::string cluster_words(const Topology& topology);
std::string whole_name(const RosterSettings& settings);
std::string scheduler_words(const RosterSettings& settings);

// Returns the caveats of each node, in order: virtual GPUs, limits that are not enforced.
std::vector<NodeCaveats> node_notes(std::span<const NodeDescription> nodes);

}  // namespace muster
