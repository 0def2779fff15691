#pragma once

// The daemon's durable state: a journal of numbered entries, which is the source of truth, and
// tables of jobs, written in the same transactions. It is the only writer; JobReader reads.
//
// append() and put() buffer. commit() writes the buffer in one transaction and returns when it is
// durable. Do not acknowledge or act on anything earlier.
//
//   open -> newest_snapshot -> for_each_from -> { append, put..., commit }... -> save_snapshot,
//   truncate_before -> ...
//
// Belongs to one thread. A child process must not use it after a fork. Decisions: docs/adr/0013.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/os/file_lock.h"
#include "base/types/result.h"
#include "base/types/time.h"
#include "live/store/journal_entry.h"
#include "live/store/rows.h"
#include "live/store/sqlite.h"

namespace muster {

// For each job the first and the last events are kept; of the events without a job, the last.
inline constexpr std::uint64_t kFirstEventsOfAJob = 50;
inline constexpr std::uint64_t kMaxEventsOfAJob = 200;
inline constexpr std::uint64_t kMaxEventsOfNoJob = 10'000;

enum class JournalHealth {
  kSound,
  kBlocked,  // The disk is full, or another program locks the file: retry commit().
  // The disk failed. This object no longer writes; reopen the file to see what it contains.
  kBroken,
};

class Journal {
 public:
  // Creates a missing file with mode 0600. Migrates an older file in one transaction. Errors: the
  // file is damaged, is not a journal, is from a newer Muster, or is in use by another process.
  static Result<Journal> open(const std::string& path);

  // Buffers an entry and returns its number: 1, 2, 3, ... without gaps. An error means that it is
  // too large; then nothing is buffered.
  Result<std::uint64_t> append(JournalEntry entry);

  // Returns the id of a new job: 1, 2, 3, ... Do not publish it before the next commit(), which
  // stores the counter. A committed id is never reused, even if its job is deleted.
  std::uint64_t next_id();

  // Buffers a row, which replaces the row with the same id. An error means that it is too large.
  MaybeError put(JobRow job);
  MaybeError put(AttemptRow attempt);
  // REQUIRES: ascending numbers. Old events are dropped, see the limits above.
  MaybeError put(EventRow event);
  // Buffers a row of the audit, which gets the next number. Long texts are shortened.
  void put(AuditRow row);
  std::uint64_t last_event() const { return last_event_; }    // Last number ever put; 0: none.
  std::uint64_t events_from() const { return events_from_; }  // Older entries have no events.

  // Returns the job of a user's idempotency key, committed or buffered. keep_key() stores a new key
  // for a job of this journal. The key is deleted with its job.
  Result<std::optional<std::uint64_t>> job_of_key(const std::string& user, const std::string& key);
  MaybeError keep_key(const std::string& user, const std::string& key, std::uint64_t job);

  // A ticket is valid only if it has the current generation of its uid, at first 0.
  // raise_ticket_generation() buffers the next one and returns it.
  const std::map<std::uint32_t, std::uint64_t>& ticket_generations() const { return generations_; }
  std::uint64_t raise_ticket_generation(std::uint32_t uid);

  // Writes the buffer in one transaction and returns when it is durable. After an error the buffer
  // is unchanged, and nothing of it may be acknowledged. kBlocked: a retry writes it with
  // everything added since. kBroken: the content of the disk is unknown, and all further calls
  // fail.
  MaybeError commit();
  JournalHealth health() const { return health_; }
  std::size_t buffered() const { return entries_.size(); }  // Entries not committed yet.
  std::uint64_t next_seq() const { return next_seq_; }      // Number of the next entry.

  // Visits the committed entries from `seq` on, in order, and verifies each. Stops with an error at
  // the first damaged or missing entry, which the error names.
  using Visit = std::function<void(std::uint64_t seq, const JournalEntry&)>;
  MaybeError for_each_from(std::uint64_t seq, const Visit& visit);

  // Each call is its own transaction and durable on return. REQUIRES: kSound. A snapshot
  // covers committed entries and replaces older snapshots. Entries that it covers may be truncated.
  MaybeError save_snapshot(const Snapshot& snapshot);
  Result<std::optional<Snapshot>> newest_snapshot();
  MaybeError truncate_before(std::uint64_t seq);

  // Deletes up to `most` jobs that finished before `before`, oldest first, with their attempts,
  // keys and events. Returns their number; less than `most` means that none are left.
  Result<std::size_t> forget_ended_before(Instant before, std::size_t most);

  // Deletes up to `most` of the oldest rows of the audit if they are from before `before`.
  MaybeError forget_audit_before(Instant before, std::size_t most);

 private:
  Journal(FileLock lock, Database database);
  MaybeError prepare();
  MaybeError read_counters();
  MaybeError read_generations();
  template <class Write>
  MaybeError transact(const Write& write);
  int write_buffered();
  void drop_buffered();
  MaybeError fail(int code);
  void checkpoint_if_due();
  void give_up(Error error);

  FileLock lock_;
  Database database_;
  struct Statements {
    Statement begin, commit, rollback, entry, job, attempt, key, find_key, counters, read, snapshot,
        drop_snapshots, newest, truncate, forget_jobs, forget_attempts, forget_keys, event,
        thin_events, forget_events, audit, forget_audit, generation;
  };
  Statements sql_;
  std::unique_ptr<int> log_pages_;  // Size of SQLite's write-ahead log after the last commit.

  std::uint64_t next_seq_ = 1;  // Includes the buffer; durable_seq_ does not.
  std::uint64_t next_id_ = 1;
  std::uint64_t durable_seq_ = 1;
  std::uint64_t durable_id_ = 1;
  std::uint64_t last_event_ = 0;
  std::uint64_t events_from_ = 1;
  std::vector<JournalEntry> entries_;
  std::map<std::uint64_t, JobRow> jobs_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, AttemptRow> attempts_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> keys_;
  std::vector<EventRow> events_;
  std::vector<AuditRow> audit_;
  std::map<std::uint32_t, std::uint64_t> generations_;  // By uid; includes the buffer.
  std::set<std::uint32_t> raised_;                      // Uids whose generation is not committed.

  JournalHealth health_ = JournalHealth::kSound;
  MaybeError failure_;  // Why health_ is not kSound.
};

}  // namespace muster
