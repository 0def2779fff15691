#include "store/journal_reader.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "store/reading.h"
#include "store/schema.h"

namespace muster {

Result<JournalReader> JournalReader::open(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return Error{path + ": no such file"};
  Result<Database> database = Database::open(path, Database::Access::kRead);
  if (!database.ok()) return database.error();
  JournalReader reader(std::move(database).value());
  // From the first query on, the file stays as it was then.
  if (const Refusal refusal = reader.database_.run("BEGIN")) return *refusal;
  const Result<std::int64_t> version = schema_version(reader.database_);
  if (!version.ok()) return version.error();
  if (version.value() == 0) return Error{path + ": empty"};
  if (version.value() < kOldestWithJobs) {
    return Error{path + ": of an older version; muster serve brings it up to date"};
  }
  const std::pair<std::string, Statement&> all[] = {
      {kSelectNewest, reader.newest_},
      {kSelectEntries, reader.entries_},
      {std::string(kSelectJobs) + "true ORDER BY id", reader.jobs_},
      {std::string(kSelectAttempts) + "ORDER BY job, number", reader.attempts_}};
  for (const auto& [sql, statement] : all) {
    if (const Refusal refusal = reader.database_.prepare(sql.c_str(), statement)) return *refusal;
  }
  return reader;
}

Result<std::optional<Snapshot>> JournalReader::newest_snapshot() {
  return read_newest(database_, newest_);
}

Refusal JournalReader::for_each_from(std::uint64_t seq, const Journal::Visit& visit) {
  const Result<std::int64_t> end =
      database_.number_of("SELECT value FROM meta WHERE name = 'next_seq'");
  if (!end.ok()) return end.error();
  return visit_entries(database_, entries_, seq, static_cast<std::uint64_t>(end.value()), visit);
}

Refusal JournalReader::for_each_job(const std::function<void(JobRow&&)>& visit) {
  jobs_.start();
  while (jobs_.next()) visit(job_row(jobs_));
  if (jobs_.code() != SQLITE_OK) return database_.error("cannot read");
  return std::nullopt;
}

Refusal JournalReader::for_each_attempt(const std::function<void(AttemptRow&&)>& visit) {
  attempts_.start();
  while (attempts_.next()) visit(attempt_row(attempts_));
  if (attempts_.code() != SQLITE_OK) return database_.error("cannot read");
  return std::nullopt;
}

}  // namespace muster
