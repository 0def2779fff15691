#pragma once

// Jobs, nodes and tenants as JSON for the API (docs/reference/api.md), and as rows for the journal.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "engine/roster/roster.h"
#include "live/config/learned_profiles.h"
#include "live/config/node_caveats.h"
#include "live/config/state_directory.h"
#include "live/lease/progress.h"
#include "live/store/rows.h"

namespace muster {

JobRow row_of(const Roster& roster, const LiveJob& job, const Progress* progress);
AttemptRow row_of(const Roster& roster, const LeaseRecord& record);
AttemptRow row_of(const Roster& roster, const LiveJob& job, const LiveLease& lease);

nlohmann::json view_of(const Roster& roster, const LiveJob& job, const Progress* progress,
                       const LiveClock& clock);
nlohmann::json view_of(const JobRow& row, const LiveClock& clock);
nlohmann::json view_of(const AttemptRow& row, const LiveClock& clock);
// Includes the jobs on each node that the caller may see.
nlohmann::json nodes_view(const Roster& roster, const std::vector<NodeCaveats>& notes,
                          const LiveClock& clock, const Caller& caller = {"", true});
nlohmann::json tenants_view(const Roster& roster);
nlohmann::json profile_view(const LearnedProfile& learned);

// Adds the cause of a failure and the advice: signature, evidence, line, advice.
void put_proof(nlohmann::json& out, const FailureEvidence& proof);

// Returns why the job does not run; empty if it runs.
std::string why_waiting(const Roster& roster, const LiveJob& job);

}  // namespace muster
