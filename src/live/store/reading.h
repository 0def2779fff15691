#pragma once

// Converts the results of queries to rows, entries and snapshots, and verifies checksums. Shared by
// the Journal and the readers; used only inside store/.

#include <cstdint>
#include <functional>
#include <optional>

#include "base/types/result.h"
#include "live/store/journal.h"
#include "live/store/rows.h"
#include "live/store/sqlite.h"

namespace muster {

inline constexpr const char* kSelectJobs =
    "SELECT id, key, tenant, user, name, state, spec, submitted, started, ended, attempts, exit"
    " FROM jobs WHERE ";
inline constexpr const char* kSelectAttempts =
    "SELECT job, number, state, nodes, started, ended, exit FROM attempts ";
inline constexpr const char* kSelectEntries =
    "SELECT seq, kind, at, body, checksum FROM entries WHERE seq >= ?1 ORDER BY seq";
inline constexpr const char* kSelectNewest =
    "SELECT seq, body, checksum FROM snapshots ORDER BY seq DESC LIMIT 1";

JobRow job_row(const Statement& row);
AttemptRow attempt_row(const Statement& row);

// Visits the entries of kSelectEntries in [seq, end). Stops with an error at the first damaged or
// missing entry, which the error names.
MaybeError visit_entries(const Database& database, Statement& read, std::uint64_t seq,
                         std::uint64_t end, const Journal::Visit& visit);

// Reads the result of kSelectNewest.
Result<std::optional<Snapshot>> read_newest(const Database& database, Statement& newest);

}  // namespace muster
