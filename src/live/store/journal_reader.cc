#include "live/store/journal_reader.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "live/store/reading.h"
#include "live/store/schema.h"

namespace muster {

Result<JournalReader> JournalReader::open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return Error{"no such file", ErrorCode::kNotFound, path};
  Result<Database> database = Database::open(path, Database::Access::kRead);
  if (!database.ok()) return database.error();
  JournalReader reader(std::move(database).value());
  // From the first query on, the transaction sees one fixed state.
  if (const MaybeError refusal = reader.database_.run("BEGIN")) return *refusal;
  const Result<std::int64_t> version = schema_version(reader.database_);
  if (!version.ok()) return version.error();
  if (version.value() == 0) return Error{"the file is empty", ErrorCode::kCorrupt, path};
  if (version.value() < kOldestWithJobs) {
    return Error{"written by an older version; run 'muster serve' once to migrate it",
                 ErrorCode::kConflict, path};
  }
  const std::pair<std::string, Statement&> all[] = {
      {kSelectNewest, reader.newest_},
      {kSelectEntries, reader.entries_},
      {std::string(kSelectJobs) + "id > ?1 ORDER BY id", reader.jobs_},
      {std::string(kSelectAttempts) + "WHERE job > ?1 ORDER BY job, number", reader.attempts_},
      {"SELECT count(*) FROM jobs WHERE id <= ?1", reader.count_}};
  for (const auto& [sql, statement] : all) {
    if (const MaybeError refusal = reader.database_.prepare(sql.c_str(), statement))
      return *refusal;
  }
  return reader;
}

Result<std::optional<Snapshot>> JournalReader::newest_snapshot() {
  return read_newest(database_, newest_);
}

MaybeError JournalReader::for_each_from(std::uint64_t seq, const Journal::Visit& visit) {
  const Result<std::int64_t> end =
      database_.number_of("SELECT value FROM meta WHERE name = 'next_seq'");
  if (!end.ok()) return end.error();
  return visit_entries(database_, entries_, seq, static_cast<std::uint64_t>(end.value()), visit);
}

MaybeError JournalReader::for_each_job(std::uint64_t after,
                                       const std::function<bool(JobRow&&)>& visit) {
  jobs_.start(after);
  while (jobs_.next() && visit(job_row(jobs_))) {
  }
  if (jobs_.code() != SQLITE_OK) return database_.error("cannot read");
  return std::nullopt;
}

MaybeError JournalReader::for_each_attempt(std::uint64_t after,
                                           const std::function<bool(AttemptRow&&)>& visit) {
  attempts_.start(after);
  while (attempts_.next() && visit(attempt_row(attempts_))) {
  }
  if (attempts_.code() != SQLITE_OK) return database_.error("cannot read");
  return std::nullopt;
}

Result<std::uint64_t> JournalReader::last_job() {
  const Result<std::int64_t> last = database_.number_of("SELECT coalesce(max(id), 0) FROM jobs");
  if (!last.ok()) return last.error();
  return static_cast<std::uint64_t>(last.value());
}

Result<std::uint64_t> JournalReader::jobs_up_to(std::uint64_t id) {
  std::uint64_t count = 0;
  count_.start(id);
  while (count_.next()) count = count_.number(0);
  if (count_.code() != SQLITE_OK) return database_.error("cannot read");
  return count;
}

}  // namespace muster
