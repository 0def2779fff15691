#include "live/store/job_reader.h"

#include <array>
#include <utility>

#include "live/store/reading.h"
#include "live/store/schema.h"

namespace muster {

namespace {

// Returns the smallest text above all texts with this prefix, in byte order; none if there is none.
std::optional<std::string> above_all(std::string_view prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) {
    prefix.remove_suffix(1);
  }
  if (prefix.empty()) return std::nullopt;
  std::string above(prefix);
  above.back() = static_cast<char>(static_cast<unsigned char>(above.back()) + 1);
  return above;
}

constexpr std::size_t kMaxStates = 1'000;

// The pattern is escaped, so it has no wildcards.
constexpr const char* kSearched =
    R"( AND (name LIKE ?4 ESCAPE '\' OR user LIKE ?4 ESCAPE '\' OR tenant LIKE ?4 ESCAPE '\')"
    R"( OR CAST(id AS TEXT) LIKE ?5 ESCAPE '\' OR key LIKE ?5 ESCAPE '\'))";

// A job of the user ?7 with the uid ?8, or of one of the tenants ?9.
constexpr const char* kSeenJob =
    " AND ((user = ?7 AND coalesce(json_extract(spec, '$.uid'), ?8) = ?8)"
    " OR tenant IN (SELECT value FROM json_each(?9)))";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == '_' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Formats a JSON array; names of states and tenants need no escaping.
std::string listed(const std::vector<std::string>& words) {
  std::string out = "[";
  for (const std::string& word : words) out += (out == "[" ? "\"" : ",\"") + word + "\"";
  return out + "]";
}

std::string order_by(JobOrder order, bool ascending) {
  static constexpr std::array kColumns = {"id",
                                          "name COLLATE NOCASE",
                                          "user COLLATE NOCASE",
                                          "tenant COLLATE NOCASE",
                                          "state",
                                          "coalesce(json_extract(spec, '$.request.gpus'), 1)",
                                          "coalesce(json_extract(spec, '$.request.priority'), 0)",
                                          "submitted",
                                          "started",
                                          "ended",
                                          "json_extract(spec, '$.ran_s')"};
  const std::string way = ascending ? " ASC" : " DESC";
  if (order == JobOrder::kId) return " ORDER BY id" + way;
  const std::string column = kColumns[static_cast<std::size_t>(order)];
  return " ORDER BY " + column + way + " NULLS LAST, id" + way;
}

}  // namespace

Result<JobReader> JobReader::open(const std::string& path) {
  Result<Database> database = Database::open(path, Database::Access::kRead);
  if (!database.ok()) return database.error();
  JobReader history(std::move(database).value());
  const Result<std::int64_t> version = schema_version(history.database_);
  if (!version.ok()) return version.error();
  if (version.value() != kSchemaVersion) {
    return Error{"written by an older version; run 'muster serve' once to migrate it",
                 ErrorCode::kConflict, path};
  }
  if (MaybeError refusal = history.prepare()) return *refusal;
  return history;
}

MaybeError JobReader::prepare() {
  const std::string jobs = kSelectJobs;
  // The plus prevents an index search by `started`, so that SQLite searches by `ended`.
  const std::string leases =
      "SELECT a.job, j.tenant, j.user, j.name, a.state, a.nodes, a.started, a.ended"
      " FROM attempts a CROSS JOIN jobs j ON j.id = a.job WHERE +a.started < ?2 AND ";
  const std::pair<std::string, Statement&> all[] = {
      {jobs + "id = ?1", by_id_},
      // In SQLite any text is below an empty blob, so it is the end for prefixes without one.
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
       events_of_all_},
      {"SELECT number, job, user, json, full FROM events e WHERE number > ?1 AND (job = 0"
       " OR (user = ?2 AND EXISTS (SELECT 1 FROM jobs WHERE id = e.job"
       "   AND coalesce(json_extract(spec, '$.uid'), ?3) = ?3))"
       " OR EXISTS (SELECT 1 FROM jobs WHERE id = e.job"
       "   AND tenant IN (SELECT value FROM json_each(?4)))) ORDER BY number LIMIT ?5",
       events_seen_},
      // Both queries have the same parameters.
      {leases + "a.ended IS NULL AND ?1 IS NOT NULL AND ?3 IS NOT NULL", leases_now_},
      {leases + "a.ended > ?1 ORDER BY a.ended DESC LIMIT ?3", leases_then_},
      {"SELECT tenant, submitted, started, ended FROM jobs WHERE submitted < ?2 AND ended > ?1"
       " UNION ALL SELECT tenant, submitted, started, ended FROM jobs WHERE submitted < ?2"
       " AND state IN ('held', 'blocked', 'queued', 'starting', 'running', 'stopping', 'retrying')",
       jobs_in_},
      {"SELECT number, job, user, json, full FROM events WHERE job = 0"
       " ORDER BY number DESC LIMIT ?1",
       events_of_none_},
      {"SELECT json FROM events WHERE job = ?1 AND instr(json, '\"waited_for_s\"') > 0"
       " ORDER BY number LIMIT 1",
       first_start_}};
  for (const auto& [sql, statement] : all) {
    if (MaybeError refusal = database_.prepare(sql.c_str(), statement)) return refusal;
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

Result<Statement*> JobReader::query(const JobFilter& filter, Yield yield, Bound& bound) {
  const bool rows = yield == Yield::kRows;
  const bool by_state = yield == Yield::kCountByState;
  const std::size_t states = by_state ? 0 : filter.states.size();
  const bool sorted = rows && (filter.order != JobOrder::kId || filter.ascending);
  const unsigned given = (states == 1 ? 1U : 0U) | (states > 1 ? 2U : 0U) |
                         (filter.user ? 4U : 0U) | (filter.tenant ? 8U : 0U) |
                         (filter.over ? 16U : 0U) | (filter.search.empty() ? 0U : 32U) |
                         (static_cast<unsigned>(yield) << 6U) |
                         (sorted ? static_cast<unsigned>(filter.order) << 8U : 0U) |
                         (sorted && filter.ascending ? 1U << 12U : 0U) |
                         (filter.over_by ? 1U << 13U : 0U) | (filter.seen_by ? 1U << 14U : 0U);
  const auto [place, fresh] = lists_.try_emplace(given);
  if (fresh) {  // Only the given conditions, so that each list can use its index.
    std::string sql = rows       ? kSelectJobs
                      : by_state ? "SELECT state, count(*) FROM jobs WHERE "
                                 : "SELECT count(*) FROM jobs WHERE ";
    sql += "true";
    if (states == 1) sql += " AND state = ?1";
    if (states > 1) sql += " AND state IN (SELECT value FROM json_each(?1))";
    if (filter.over) sql += " AND ended IS NOT NULL";
    // A plus prevents SQLite from using a condition's index. A user has fewer jobs than a tenant,
    // and fewer jobs end within a moment than any user has.
    const auto whose = [&](bool by_index) {
      std::string part;
      if (filter.user) part += by_index ? " AND user = ?2" : " AND +user = ?2";
      const bool by_tenant = by_index && !filter.user;
      if (filter.tenant) part += by_tenant ? " AND tenant = ?3" : " AND +tenant = ?3";
      if (!filter.search.empty()) part += kSearched;
      if (filter.seen_by) part += kSeenJob;
      return part;
    };
    sql += whose(true);
    if (filter.over_by && !by_state) sql += " AND (+ended <= ?6 OR ended IS NULL)";
    if (by_state) sql += " GROUP BY state";
    if (by_state && filter.over_by) {
      sql += " UNION ALL SELECT state, -count(*) FROM jobs WHERE ended > ?6" + whose(false) +
             " GROUP BY +state";
    }
    if (rows) sql += order_by(filter.order, filter.ascending);
    sql += " LIMIT ?10 OFFSET ?11";
    if (MaybeError refusal = database_.prepare(sql.c_str(), place->second)) {
      lists_.erase(place);
      return *refusal;
    }
  }
  bind(filter, yield, place->second, bound);
  return &place->second;
}

void JobReader::bind(const JobFilter& filter, Yield yield, Statement& query, Bound& bound) {
  const bool rows = yield == Yield::kRows;
  if (yield != Yield::kCountByState) {
    if (filter.states.size() == 1) bound.states = filter.states.front();
    if (filter.states.size() > 1) bound.states = listed(filter.states);
  }
  if (!filter.search.empty()) {
    bound.prefix = escaped(filter.search) + "%";
    bound.part = "%" + *bound.prefix;
  }
  if (filter.seen_by) {
    bound.viewer = filter.seen_by->user;
    bound.tenants = listed(filter.seen_by->tenants);
  }
  query.start(bound.states, filter.user, filter.tenant, bound.part, bound.prefix, filter.over_by,
              bound.viewer, std::uint64_t{filter.seen_by ? filter.seen_by->uid : 0}, bound.tenants,
              static_cast<std::uint64_t>(rows ? filter.limit : kMaxStates),
              static_cast<std::uint64_t>(rows ? filter.offset : 0));
}

Result<std::vector<JobRow>> JobReader::jobs(const JobFilter& filter) {
  Bound bound;
  const Result<Statement*> begun = query(filter, Yield::kRows, bound);
  if (!begun.ok()) return begun.error();
  return collect(*begun.value());
}

Result<std::uint64_t> JobReader::count(const JobFilter& filter) {
  Bound bound;
  const Result<Statement*> begun = query(filter, Yield::kCount, bound);
  if (!begun.ok()) return begun.error();
  std::uint64_t count = 0;
  while (begun.value()->next()) count = begun.value()->number(0);
  if (begun.value()->code() != SQLITE_OK) return database_.error("cannot read");
  return count;
}

Result<std::map<std::string, std::uint64_t>> JobReader::count_by_state(const JobFilter& filter) {
  Bound bound;
  const Result<Statement*> begun = query(filter, Yield::kCountByState, bound);
  if (!begun.ok()) return begun.error();
  std::map<std::string, std::int64_t> sums;
  while (begun.value()->next()) sums[begun.value()->text(0)] += begun.value()->integer(1);
  if (begun.value()->code() != SQLITE_OK) return database_.error("cannot read");
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [state, sum] : sums) {
    if (sum > 0) counts[state] = static_cast<std::uint64_t>(sum);
  }
  return counts;
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
  const std::string tenants = filter.seen_by ? listed(filter.seen_by->tenants) : "";
  Statement& query = filter.job != 0  ? events_of_job_
                     : filter.seen_by ? events_seen_
                                      : events_of_all_;
  if (filter.seen_by && filter.job == 0) {
    query.start(filter.after, filter.seen_by->user, std::uint64_t{filter.seen_by->uid}, tenants,
                limit);
  } else if (filter.job != 0) {
    query.start(filter.job, filter.after, filter.user, limit);
  } else {
    query.start(filter.after, filter.user, limit);
  }
  return collect_events(query);
}

Result<std::vector<EventRow>> JobReader::latest_of_no_job(std::size_t limit) {
  events_of_none_.start(static_cast<std::uint64_t>(limit));
  return collect_events(events_of_none_);
}

Result<std::vector<EventRow>> JobReader::collect_events(Statement& query) {
  std::vector<EventRow> rows;
  while (query.next()) {
    rows.push_back({query.number(0), query.number(1), query.text(2), query.text(3), query.text(4)});
  }
  if (query.code() != SQLITE_OK) return database_.error("cannot read");
  return rows;
}

MaybeError JobReader::for_each_ended_since(Instant since,
                                           const std::function<void(const JobRow&)>& visit) {
  ended_since_.start(since);
  while (ended_since_.next()) visit(job_row(ended_since_));
  if (ended_since_.code() != SQLITE_OK) return database_.error("cannot read");
  return std::nullopt;
}

MaybeError JobReader::expect_many() { return database_.run("PRAGMA cache_size = -65536"); }

MaybeError JobReader::hold_still() { return database_.run("BEGIN"); }

MaybeError JobReader::for_each_lease_in(Instant from, Instant to, std::size_t limit,
                                        const std::function<void(AttemptSpan&&)>& visit) {
  for (Statement* query : {&leases_now_, &leases_then_}) {
    query->start(from, to, static_cast<std::uint64_t>(limit));
    while (query->next()) {
      visit({query->number(0), query->text(1), query->text(2), query->text(3), query->text(4),
             query->text(5), Instant::micros(query->integer(6)), query->instant(7)});
    }
    if (query->code() != SQLITE_OK) return database_.error("cannot read");
  }
  return std::nullopt;
}

Result<std::string> JobReader::first_start(std::uint64_t job) {
  first_start_.start(job);
  std::string found;
  while (first_start_.next()) found = first_start_.text(0);
  if (first_start_.code() != SQLITE_OK) return database_.error("cannot read");
  return found;
}

MaybeError JobReader::for_each_job_in(Instant from, Instant to,
                                      const std::function<void(JobSpan&&)>& visit) {
  jobs_in_.start(from, to);
  while (jobs_in_.next()) {
    visit({jobs_in_.text(0), Instant::micros(jobs_in_.integer(1)), jobs_in_.instant(2),
           jobs_in_.instant(3)});
  }
  if (jobs_in_.code() != SQLITE_OK) return database_.error("cannot read");
  return std::nullopt;
}

}  // namespace muster
