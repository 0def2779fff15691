#pragma once

// From what an operator wrote and which servers there are to what the manager works with. All that
// the roster decides by is one text, which is kept beside its snapshots: a journal is replayed with
// the settings it was written under, whatever the operator has changed since.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/roster/roster.h"
#include "exec/lease/executor.h"
#include "live/config/node_notes.h"
#include "live/config/serve_file.h"

namespace muster {

// Canonical: equal texts are equal settings.
Result<std::string> settings_text(const ServeFile& file, std::span<const ServerFacts> servers);

// Refuses what the scheduler cannot be: unknown parts, quotas beyond the cluster, schedulers that
// need more than the live manager can do.
Result<RosterSettings> roster_settings(std::string_view text);

// For people, and for labels: "3 servers, 24 GPUs"; a scheduler that is no chain of parts by its
// name, empty otherwise; that, or the parts: "srtf, tune, consolidate".
std::string cluster_words(const Topology& topology);
std::string whole_name(const RosterSettings& settings);
std::string scheduler_words(const RosterSettings& settings);

// What is to be said of each server: that its GPUs are virtual, that limits are not enforced.
std::vector<NodeNotes> node_notes(std::span<const ServerFacts> servers);

}  // namespace muster
