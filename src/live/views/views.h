#pragma once

// Jobs, servers and tenants as the API shows them (docs/api.md), and the rows of the tables they
// are kept in.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/roster/roster.h"
#include "live/config/instance.h"
#include "live/config/learnt.h"
#include "live/config/node_notes.h"
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
// With whose jobs are there; only those of one user, unless that is empty.
nlohmann::json nodes_view(const Roster& roster, const std::vector<NodeNotes>& notes,
                          const LiveClock& clock, const std::string& user = "");
nlohmann::json tenants_view(const Roster& roster);
nlohmann::json profile_view(const Learnt& learnt);

// What shows why it failed, and what its user could do: signature, evidence, line, advice.
void put_proof(nlohmann::json& out, const Proof& proof);

// Why a job that is not running is not; empty if it runs.
std::string why_waiting(const Roster& roster, const LiveJob& job);

}  // namespace muster
