#include "live/store/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/types/check.h"
#include "live/store/log_check.h"
#include "live/store/reading.h"
#include "live/store/schema.h"

namespace muster {

namespace {

// Created here with mode 0600, because specs contain environment variables.
MaybeError make_private(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) {
    ::close(descriptor);
  } else if (errno != EEXIST) {
    return Error{fmt::format("cannot create: {}", std::strerror(errno)), ErrorCode::kSystem, path};
  }
  return std::nullopt;
}

// Uses a write-ahead log and syncs it at every commit. Checkpoints are explicit, because SQLite's
// automatic ones hide a failed sync.
MaybeError set_up(Database& database) {
  const Result<std::string> mode = database.text_of("PRAGMA journal_mode = WAL");
  if (!mode.ok()) return mode.error();
  if (mode.value() != "wal")
    return Error{"the file system does not support SQLite's write-ahead log", ErrorCode::kSystem,
                 database.path()};
  return database.run(
      "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4096;"
      "PRAGMA journal_size_limit = 16777216");
}

MaybeError verify(Database& database) {
  const Result<std::string> verdict = database.text_of("PRAGMA quick_check(1)");
  if (!verdict.ok()) return verdict.error();
  if (verdict.value() == "ok") return std::nullopt;
  std::string line = verdict.value();
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return Error{"damaged: " + line, ErrorCode::kCorrupt, database.path()};
}

int note_pages(void* pages, sqlite3*, const char*, int count) {
  *static_cast<int*>(pages) = count;
  return SQLITE_OK;
}

MaybeError check_size(const char* what, std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::nullopt;
  return Error{fmt::format("{}: {} bytes, more than {}", what, text.size(), most),
               ErrorCode::kTooLarge};
}

}  // namespace

Journal::Journal(FileLock lock, Database database)
    : lock_(std::move(lock)), database_(std::move(database)), log_pages_(std::make_unique<int>(0)) {
  sqlite3_wal_hook(database_.handle(), note_pages, log_pages_.get());
}

Result<Journal> Journal::open(const std::string& path) {
  Result<FileLock> lock = FileLock::take(path);
  if (!lock.ok()) return lock.error();
  if (MaybeError refusal = make_private(path)) return *refusal;
  // For a symbolic link, SQLite keeps the log next to the target.
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, ignored);
  if (MaybeError refusal = check_log(real.string() + "-wal")) return *refusal;
  Result<Database> opened = Database::open(path, Database::Access::kWrite);
  if (!opened.ok()) return opened.error();

  // Nothing is written until the file is verified as a journal.
  Database database = std::move(opened).value();
  const Result<std::int64_t> version = schema_version(database);
  if (!version.ok()) return version.error();
  if (MaybeError refusal = verify(database)) return *refusal;
  if (MaybeError refusal = set_up(database)) return *refusal;
  if (MaybeError refusal = migrate(database, version.value())) return *refusal;

  Journal journal(std::move(lock).value(), std::move(database));
  if (MaybeError refusal = journal.prepare()) return *refusal;
  if (MaybeError refusal = journal.read_counters()) return *refusal;
  if (MaybeError refusal = journal.read_generations()) return *refusal;
  return journal;
}

MaybeError Journal::prepare() {
  const std::pair<const char*, Statement&> all[] = {
      {"BEGIN IMMEDIATE", sql_.begin},
      {"COMMIT", sql_.commit},
      {"ROLLBACK", sql_.rollback},
      {"INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5)", sql_.entry},
      {"REPLACE INTO jobs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)", sql_.job},
      {"REPLACE INTO attempts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", sql_.attempt},
      {"INSERT INTO keys VALUES (?1, ?2, ?3)", sql_.key},
      {"SELECT job FROM keys WHERE user = ?1 AND key = ?2", sql_.find_key},
      {"REPLACE INTO meta VALUES ('next_seq', ?1), ('next_id', ?2)", sql_.counters},
      {kSelectEntries, sql_.read},
      {"REPLACE INTO snapshots VALUES (?1, ?2, ?3)", sql_.snapshot},
      {"DELETE FROM snapshots WHERE seq < ?1", sql_.drop_snapshots},
      {kSelectNewest, sql_.newest},
      {"DELETE FROM entries WHERE seq < ?1", sql_.truncate},
      {"DELETE FROM jobs WHERE id IN (SELECT id FROM jobs"
       " WHERE ended IS NOT NULL AND ended < ?1 ORDER BY ended, id LIMIT ?2)",
       sql_.forget_jobs},
      {"DELETE FROM attempts WHERE job IN (SELECT id FROM jobs"
       " WHERE ended IS NOT NULL AND ended < ?1 ORDER BY ended, id LIMIT ?2)",
       sql_.forget_attempts},
      {"DELETE FROM keys WHERE job IN (SELECT id FROM jobs"
       " WHERE ended IS NOT NULL AND ended < ?1 ORDER BY ended, id LIMIT ?2)",
       sql_.forget_keys},
      {"DELETE FROM events WHERE job IN (SELECT id FROM jobs"
       " WHERE ended IS NOT NULL AND ended < ?1 ORDER BY ended, id LIMIT ?2)",
       sql_.forget_events},
      {"INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5)", sql_.event},
      // Deletes the first event after the first ?2 if there are more than ?3 in total.
      {"DELETE FROM events WHERE (SELECT count(*) FROM events WHERE job = ?1) > ?3 AND number ="
       " (SELECT number FROM events WHERE job = ?1 ORDER BY number LIMIT 1 OFFSET ?2)",
       sql_.thin_events},
      {"INSERT INTO audit VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
       sql_.audit},
      {"DELETE FROM audit WHERE at < ?1 AND number IN"
       " (SELECT number FROM audit ORDER BY number LIMIT ?2)",
       sql_.forget_audit},
      {"REPLACE INTO ticket_generations VALUES (?1, ?2)", sql_.generation}};
  for (const auto& [sql, statement] : all) {
    if (MaybeError refusal = database_.prepare(sql, statement)) return refusal;
  }
  return std::nullopt;
}

// Also checks the rows, because a counter behind them would reuse numbers.
MaybeError Journal::read_counters() {
  const std::pair<const char*, std::uint64_t&> all[] = {
      {"SELECT value FROM meta WHERE name = 'next_seq'", durable_seq_},
      {"SELECT value FROM meta WHERE name = 'next_id'", durable_id_},
      {"SELECT value FROM meta WHERE name = 'events_from'", events_from_}};
  for (const auto& [sql, counter] : all) {
    const Result<std::int64_t> value = database_.number_of(sql);
    if (!value.ok()) return value.error();
    if (value.value() < 1)
      return Error{"damaged: a counter is below 1", ErrorCode::kCorrupt, database_.path()};
    counter = static_cast<std::uint64_t>(value.value());
  }
  const Result<std::int64_t> last =
      database_.number_of("SELECT coalesce(max(seq), 0) FROM entries");
  if (!last.ok()) return last.error();
  const Result<std::int64_t> job = database_.number_of("SELECT coalesce(max(id), 0) FROM jobs");
  if (!job.ok()) return job.error();
  if (last.value() >= static_cast<std::int64_t>(durable_seq_) ||
      job.value() >= static_cast<std::int64_t>(durable_id_)) {
    return Error{"damaged: a counter is lower than an existing number", ErrorCode::kCorrupt,
                 database_.path()};
  }
  const Result<std::int64_t> event =
      database_.number_of("SELECT coalesce(max(number), 0) FROM events");
  if (!event.ok()) return event.error();
  last_event_ = static_cast<std::uint64_t>(event.value());
  next_seq_ = durable_seq_;
  next_id_ = durable_id_;
  return std::nullopt;
}

MaybeError Journal::read_generations() {
  Statement read;
  if (MaybeError refusal =
          database_.prepare("SELECT uid, generation FROM ticket_generations", read)) {
    return refusal;
  }
  read.start();
  while (read.next()) generations_[static_cast<std::uint32_t>(read.number(0))] = read.number(1);
  return read.code() == SQLITE_OK ? std::nullopt : MaybeError(database_.error("cannot read"));
}

Result<std::uint64_t> Journal::append(JournalEntry entry) {
  if (MaybeError refusal = check_size("kind of entry", entry.kind, kLargestName)) return *refusal;
  if (MaybeError refusal = check_size("body of entry", entry.body, kLargestText)) return *refusal;
  entries_.push_back(std::move(entry));
  return next_seq_++;
}

std::uint64_t Journal::next_id() { return next_id_++; }

MaybeError Journal::put(JobRow job) {
  MUSTER_CHECK(job.id > 0 && job.id < next_id_);
  if (MaybeError refusal = check_size("spec of job", job.spec, kLargestText)) return refusal;
  for (const std::string* text :
       {&job.key, &job.tenant, &job.user, &job.name, &job.state, &job.exit}) {
    if (MaybeError refusal = check_size("text of job", *text, kLargestName)) return refusal;
  }
  const std::uint64_t id = job.id;
  jobs_.insert_or_assign(id, std::move(job));
  return std::nullopt;
}

MaybeError Journal::put(AttemptRow attempt) {
  MUSTER_CHECK(attempt.job > 0 && attempt.job < next_id_);
  if (MaybeError refusal = check_size("nodes of attempt", attempt.nodes, kLargestText))
    return refusal;
  for (const std::string* text : {&attempt.state, &attempt.exit}) {
    if (MaybeError refusal = check_size("text of attempt", *text, kLargestName)) return refusal;
  }
  const std::pair place(attempt.job, attempt.number);
  attempts_.insert_or_assign(place, std::move(attempt));
  return std::nullopt;
}

MaybeError Journal::put(EventRow event) {
  MUSTER_CHECK(event.number > last_event_ && event.job < next_id_);
  if (MaybeError refusal = check_size("user of event", event.user, kLargestName)) return refusal;
  for (const std::string* text : {&event.json, &event.full}) {
    if (MaybeError refusal = check_size("text of event", *text, kLargestText)) return refusal;
  }
  last_event_ = event.number;
  events_.push_back(std::move(event));
  return std::nullopt;
}

void Journal::put(AuditRow row) {
  for (std::string* text :
       {&row.user, &row.via, &row.address, &row.verb, &row.object, &row.owner, &row.answer}) {
    if (text->size() > kLargestAuditText) text->resize(kLargestAuditText);
  }
  audit_.push_back(std::move(row));
}

std::uint64_t Journal::raise_ticket_generation(std::uint32_t uid) {
  raised_.insert(uid);
  return ++generations_[uid];
}

Result<std::optional<std::uint64_t>> Journal::job_of_key(const std::string& user,
                                                         const std::string& key) {
  if (const auto place = keys_.find({user, key}); place != keys_.end()) {
    return std::optional(place->second);
  }
  std::optional<std::uint64_t> job;
  sql_.find_key.start(user, key);
  while (sql_.find_key.next()) job = sql_.find_key.number(0);
  if (sql_.find_key.code() != SQLITE_OK) return database_.error("cannot read");
  return job;
}

MaybeError Journal::keep_key(const std::string& user, const std::string& key, std::uint64_t job) {
  MUSTER_CHECK(job > 0 && job < next_id_);
  if (MaybeError refusal = check_size("user", user, kLargestName)) return refusal;
  if (MaybeError refusal = check_size("idempotency key", key, kLargestName)) return refusal;
  const Result<std::optional<std::uint64_t>> known = job_of_key(user, key);
  if (!known.ok()) return known.error();
  MUSTER_CHECK(!known.value());
  keys_.emplace(std::pair(user, key), job);
  return std::nullopt;
}

MaybeError Journal::for_each_from(std::uint64_t seq, const Visit& visit) {
  MUSTER_CHECK(seq <= durable_seq_);
  return visit_entries(database_, sql_.read, seq, durable_seq_, visit);
}

Result<std::optional<Snapshot>> Journal::newest_snapshot() {
  return read_newest(database_, sql_.newest);
}

}  // namespace muster
