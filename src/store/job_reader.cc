#include "store/job_reader.h"

#include <utility>

#include "store/reading.h"
#include "store/schema.h"

namespace muster {

namespace {

// The least text above all that begin with the prefix, byte by byte; none if there is no such text.
std::optional<std::string> above_all(std::string_view prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) {
    prefix.remove_suffix(1);
  }
  if (prefix.empty()) return std::nullopt;
  std::string above(prefix);
  above.back() = static_cast<char>(static_cast<unsigned char>(above.back()) + 1);
  return above;
}

}  // namespace

Result<JobReader> JobReader::open(const std::string& path) {
  Result<Database> database = Database::open(path, Database::Access::kRead);
  if (!database.ok()) return database.error();
  JobReader history(std::move(database).value());
  const Result<std::int64_t> version = schema_version(history.database_);
  if (!version.ok()) return version.error();
  if (version.value() != kSchemaVersion) {
    return Error{path + ": of an older version; muster serve brings it up to date"};
  }
  if (Refusal refusal = history.prepare()) return *refusal;
  return history;
}

Refusal JobReader::prepare() {
  const std::string jobs = kSelectJobs;
  const std::pair<std::string, Statement&> all[] = {
      {jobs + "id = ?1", by_id_},
      // Any text is below an empty blob: an end for prefixes that have none.
      {jobs + "id IN ("
              "  SELECT id FROM jobs WHERE key >= ?1 AND key < coalesce(?2, x'')"
              "  UNION SELECT id FROM jobs"
              "    WHERE CAST(id AS TEXT) >= ?1 AND CAST(id AS TEXT) < coalesce(?2, x''))"
              " ORDER BY id DESC LIMIT ?3",
       by_prefix_},
      {std::string(kSelectAttempts) + "WHERE job = ?1 ORDER BY number", attempts_of_},
      {jobs + "ended IS NOT NULL AND ended >= ?1 ORDER BY ended, id", ended_since_},
      {"SELECT number, job, user, json, full FROM events WHERE job = ?1 AND number > ?2"
       " AND (?3 IS NULL OR job = 0 OR user = ?3) ORDER BY number LIMIT ?4",
       events_of_job_},
      {"SELECT number, job, user, json, full FROM events WHERE number > ?1"
       " AND (?2 IS NULL OR job = 0 OR user = ?2) ORDER BY number LIMIT ?3",
       events_of_all_}};
  for (const auto& [sql, statement] : all) {
    if (Refusal refusal = database_.prepare(sql.c_str(), statement)) return refusal;
  }
  return std::nullopt;
}

Result<std::vector<JobRow>> JobReader::collect(Statement& query) {
  std::vector<JobRow> rows;
  while (query.next()) rows.push_back(job_row(query));
  if (query.code() != SQLITE_OK) return database_.error("cannot read");
  return rows;
}

Result<std::optional<JobRow>> JobReader::job(std::uint64_t id) {
  by_id_.start(id);
  Result<std::vector<JobRow>> rows = collect(by_id_);
  if (!rows.ok()) return rows.error();
  if (rows.value().empty()) return std::optional<JobRow>();
  return std::optional<JobRow>(std::move(rows.value().front()));
}

Result<std::vector<JobRow>> JobReader::jobs_beginning(std::string_view prefix, std::size_t limit) {
  const std::optional<std::string> above = above_all(prefix);
  by_prefix_.start(prefix, above, static_cast<std::uint64_t>(limit));
  return collect(by_prefix_);
}

Result<Statement*> JobReader::query(const JobFilter& filter, bool counts) {
  const unsigned given = (filter.state ? 1U : 0U) | (filter.user ? 2U : 0U) |
                         (filter.tenant ? 4U : 0U) | (filter.over ? 8U : 0U) | (counts ? 16U : 0U);
  const auto [place, fresh] = lists_.try_emplace(given);
  if (fresh) {  // Only conditions that are given, so that each list has its index.
    std::string sql = counts ? "SELECT count(*) FROM jobs WHERE " : kSelectJobs;
    sql += "true";
    if (filter.state) sql += " AND state = ?1";
    if (filter.over) sql += " AND ended IS NOT NULL";
    if (filter.user) sql += " AND user = ?2";
    if (filter.tenant) sql += " AND tenant = ?3";
    sql += counts ? " LIMIT ?4 OFFSET ?5" : " ORDER BY id DESC LIMIT ?4 OFFSET ?5";
    if (Refusal refusal = database_.prepare(sql.c_str(), place->second)) {
      lists_.erase(place);
      return *refusal;
    }
  }
  const std::size_t limit = counts ? 1 : filter.limit;
  const std::size_t offset = counts ? 0 : filter.offset;
  place->second.start(filter.state, filter.user, filter.tenant, static_cast<std::uint64_t>(limit),
                      static_cast<std::uint64_t>(offset));
  return &place->second;
}

Result<std::vector<JobRow>> JobReader::jobs(const JobFilter& filter) {
  const Result<Statement*> begun = query(filter, false);
  if (!begun.ok()) return begun.error();
  return collect(*begun.value());
}

Result<std::uint64_t> JobReader::count(const JobFilter& filter) {
  const Result<Statement*> begun = query(filter, true);
  if (!begun.ok()) return begun.error();
  std::uint64_t count = 0;
  while (begun.value()->next()) count = begun.value()->number(0);
  if (begun.value()->code() != SQLITE_OK) return database_.error("cannot read");
  return count;
}

Result<std::vector<AttemptRow>> JobReader::attempts(std::uint64_t job) {
  attempts_of_.start(job);
  std::vector<AttemptRow> rows;
  while (attempts_of_.next()) rows.push_back(attempt_row(attempts_of_));
  if (attempts_of_.code() != SQLITE_OK) return database_.error("cannot read");
  return rows;
}

Result<std::vector<EventRow>> JobReader::events(const EventFilter& filter) {
  const auto limit = static_cast<std::uint64_t>(filter.limit);
  Statement& query = filter.job != 0 ? events_of_job_ : events_of_all_;
  if (filter.job != 0) {
    query.start(filter.job, filter.after, filter.user, limit);
  } else {
    query.start(filter.after, filter.user, limit);
  }
  std::vector<EventRow> rows;
  while (query.next()) {
    rows.push_back({query.number(0), query.number(1), query.text(2), query.text(3), query.text(4)});
  }
  if (query.code() != SQLITE_OK) return database_.error("cannot read");
  return rows;
}

Refusal JobReader::for_each_ended_since(Instant since,
                                        const std::function<void(const JobRow&)>& visit) {
  ended_since_.start(since);
  while (ended_since_.next()) visit(job_row(ended_since_));
  if (ended_since_.code() != SQLITE_OK) return database_.error("cannot read");
  return std::nullopt;
}

}  // namespace muster
