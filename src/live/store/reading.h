#pragma once

// What queries yield, as values: rows of the tables, entries and snapshots, each checked. The
// Journal and the readers beside it share this. Used inside store/ only.

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

// Of kSelectEntries: those from `seq` on, up to the one before `end`. Refuses at the first that is
// damaged or missing, naming its number; those before it were visited.
Refusal visit_entries(const Database& database, Statement& read, std::uint64_t seq,
                      std::uint64_t end, const Journal::Visit& visit);

// Of kSelectNewest.
Result<std::optional<Snapshot>> read_newest(const Database& database, Statement& newest);

}  // namespace muster
