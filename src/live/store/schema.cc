#include "live/store/schema.h"

#include <fmt/format.h>

#include <array>

namespace muster {

namespace {

constexpr std::int64_t kApplication = 0x4d535452;  // "MSTR", in the file's header.

// Version 1: the source of truth. The counters are in `meta`, so that the numbers of entries and
// jobs are not reused when the newest rows are deleted.
constexpr const char* kTruth = R"(
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES ('next_seq', 1), ('next_id', 1);
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
    checksum INTEGER NOT NULL);
  CREATE TABLE snapshots (
    seq INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL);
)";

// Version 2: tables for queries, derived from the entries. Every index ends with the row's id, so
// those on jobs also return the newest first. `ended` is null while a job is active.
constexpr const char* kForPeople = R"(
  CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, tenant TEXT NOT NULL, user TEXT NOT NULL,
    name TEXT NOT NULL, state TEXT NOT NULL, spec TEXT NOT NULL, submitted INTEGER NOT NULL,
    started INTEGER, ended INTEGER, attempts INTEGER NOT NULL, exit TEXT NOT NULL);
  CREATE INDEX jobs_by_id_text ON jobs (CAST(id AS TEXT));
  CREATE INDEX jobs_by_key ON jobs (key);
  CREATE INDEX jobs_by_state ON jobs (state);
  CREATE INDEX jobs_by_user ON jobs (user);
  CREATE INDEX jobs_by_tenant ON jobs (tenant);
  CREATE INDEX jobs_by_end ON jobs (ended) WHERE ended IS NOT NULL;
  CREATE TABLE attempts (
    job INTEGER NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL, nodes TEXT NOT NULL,
    started INTEGER, ended INTEGER, exit TEXT NOT NULL, PRIMARY KEY (job, number)) WITHOUT ROWID;
  CREATE TABLE keys (
    user TEXT NOT NULL, key TEXT NOT NULL, job INTEGER NOT NULL,
    PRIMARY KEY (user, key)) WITHOUT ROWID;
  CREATE INDEX keys_by_job ON keys (job);
)";

// Version 3: the events that users see. `events_from` is the first journal entry whose events are
// stored.
constexpr const char* kStory = R"(
  CREATE TABLE events (
    number INTEGER PRIMARY KEY, job INTEGER NOT NULL, user TEXT NOT NULL, json TEXT NOT NULL,
    full TEXT NOT NULL);
  CREATE INDEX events_by_job ON events (job);
  INSERT INTO meta SELECT 'events_from', value FROM meta WHERE name = 'next_seq';
)";

// Version 4: finds the jobs of a time window without a full scan.
constexpr const char* kTimeline = R"(
  CREATE INDEX attempts_by_end ON attempts (ended);
)";

// Version 5: the audit, and the generation of each user's valid tickets. The audit has no further
// index, because it gets a row with every submission and is rarely read.
constexpr const char* kAudit = R"(
  CREATE TABLE audit (
    number INTEGER PRIMARY KEY, at INTEGER NOT NULL, uid INTEGER, user TEXT NOT NULL,
    via TEXT NOT NULL, address TEXT NOT NULL, verb TEXT NOT NULL, object TEXT NOT NULL,
    job INTEGER NOT NULL, owner TEXT NOT NULL, owner_uid INTEGER, status INTEGER NOT NULL,
    answer TEXT NOT NULL, dropped INTEGER NOT NULL);
  CREATE TABLE ticket_generations (uid INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
)";

constexpr std::array<const char*, kSchemaVersion> kSteps = {kTruth, kForPeople, kStory, kTimeline,
                                                            kAudit};

MaybeError take_steps(Database& database, std::int64_t version) {
  for (auto step = static_cast<std::size_t>(version); step < kSteps.size(); ++step) {
    if (MaybeError refusal = database.run(kSteps[step])) return refusal;
  }
  return database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                  kApplication, kSchemaVersion)
                          .c_str());
}

}  // namespace

Result<std::int64_t> schema_version(Database& database) {
  const Result<std::int64_t> application = database.number_of("PRAGMA application_id");
  if (!application.ok()) return application.error();
  const Result<std::int64_t> version = database.number_of("PRAGMA user_version");
  if (!version.ok()) return version.error();
  const Result<std::int64_t> tables = database.number_of("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.error();

  if (tables.value() == 0 && application.value() == 0 && version.value() == 0) return 0;
  if (application.value() != kApplication || version.value() < 1) {
    return Error{"not a Muster journal", ErrorCode::kCorrupt, database.path()};
  }
  if (version.value() > kSchemaVersion) {
    return Error{
        fmt::format(
            "written by a newer Muster: version {}, but this one supports versions up to {}",
            version.value(), kSchemaVersion),
        ErrorCode::kConflict, database.path()};
  }
  return version.value();
}

MaybeError migrate(Database& database, std::int64_t version) {
  if (version == kSchemaVersion) return std::nullopt;
  if (MaybeError refusal = database.run("BEGIN IMMEDIATE")) return refusal;
  MaybeError refusal = take_steps(database, version);
  if (!refusal) refusal = database.run("COMMIT");
  if (refusal) sqlite3_exec(database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  return refusal;
}

}  // namespace muster
