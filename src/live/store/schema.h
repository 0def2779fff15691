#pragma once

// The tables of the journal, and the migration of older files. A released migration step is never
// edited. Each step converts a file from one version to the next.

#include <cstdint>

#include "base/types/result.h"
#include "live/store/sqlite.h"

namespace muster {

inline constexpr std::int64_t kSchemaVersion = 5;
// Since this version, entries, jobs and attempts are unchanged.
inline constexpr std::int64_t kOldestWithJobs = 2;

// Returns the version of the file; 0: empty. Errors: it is not a journal or is from a newer Muster.
// Changes nothing.
Result<std::int64_t> schema_version(Database& database);

// Migrates a file of this version to kSchemaVersion, in one transaction.
MaybeError migrate(Database& database, std::int64_t version);

}  // namespace muster
