#pragma once

// The tables of the journal and how an older file becomes one of today: steps that are never edited
// once released, each taking a file from one version to the next.

#include <cstdint>

#include "base/types/result.h"
#include "live/store/sqlite.h"

namespace muster {

inline constexpr std::int64_t kSchemaVersion = 4;
inline constexpr std::int64_t kOldestWithJobs = 2;  // Entries, jobs and attempts are as today.

// Refuses, without changing anything, a file that is not a journal or is of a newer Muster.
// Otherwise gives its version: 0 of an empty file.
Result<std::int64_t> schema_version(Database& database);

// Takes a file of this version to kSchemaVersion, all steps in one transaction.
Refusal migrate(Database& database, std::int64_t version);

}  // namespace muster
