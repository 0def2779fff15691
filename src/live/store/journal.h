#pragma once

// The daemon's memory: a journal of numbered entries on disk, which is the truth, and tables for
// people that are written in the same transactions. The one writer; `JobReader` reads beside it.
//
// What is appended or put is buffered; commit() writes all of it in one transaction and comes back
// when it is on disk. Nothing may be acknowledged, and nothing done on its account, before that.
//
//   open -> newest_snapshot -> for_each_from -> { append, put..., commit }... -> save_snapshot,
//   truncate_before -> ...
//
// Belongs to one thread, and must not be used by a child after a fork. Decisions: docs/adr/0013.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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

// Of one job the first and the last are kept, of what is about no job the last.
inline constexpr std::uint64_t kFirstEventsOfAJob = 50;
inline constexpr std::uint64_t kMostEventsOfAJob = 200;
inline constexpr std::uint64_t kMostEventsOfNoJob = 10'000;

enum class JournalHealth {
  kSound,
  kBlocked,  // The disk is full, or another program keeps the file: commit() may be tried again.
  kBroken,   // The disk failed. This object writes no more; open the file again to see what is
             // there.
};

class Journal {
 public:
  // Makes the file if there is none, readable by its owner alone; brings an older one up to date,
  // all or nothing. Refuses in one line a file that is damaged, foreign, of a newer Muster, or
  // held by another process.
  static Result<Journal> open(const std::string& path);

  // Buffers an entry and gives its number: 1, 2, 3... without a gap. Refuses one that is too large,
  // and then nothing is buffered.
  Result<std::uint64_t> append(JournalEntry entry);

  // The id of a new job: 1, 2, 3... The counter goes to disk with the next commit, and an id that
  // did is never given again, whatever is deleted. Tell nobody of an id before that commit.
  std::uint64_t next_id();

  // Rows for people, new or replacing the one of the same id. Refuse what is too large.
  Refusal put(JobRow job);
  Refusal put(AttemptRow attempt);
  // Likewise; the numbers must ascend. Only so many are kept, see above.
  Refusal put(EventRow event);
  std::uint64_t last_event() const { return last_event_; }    // Of those put, ever; 0: none.
  std::uint64_t events_from() const { return events_from_; }  // Entries before have none.

  // Which job a user's idempotency key stands for; it may be one that is only buffered. A key is
  // kept once, for a job of this Journal; it goes when its job is forgotten.
  Result<std::optional<std::uint64_t>> job_of_key(const std::string& user, const std::string& key);
  Refusal keep_key(const std::string& user, const std::string& key, std::uint64_t job);

  // Writes what is buffered, all or nothing, and returns after it is durable. When refused, the
  // buffer is kept as it was: nothing of it may be acknowledged. Blocked: call again, and it writes
  // the same and what has come since. Broken: nobody knows what reached the disk, and every further
  // call is refused.
  Refusal commit();
  JournalHealth health() const { return health_; }
  std::size_t buffered() const { return entries_.size(); }  // Entries not committed yet.
  std::uint64_t next_seq() const { return next_seq_; }      // What the next entry gets.

  // Committed entries from this number on, in order, each checked. Refuses at the first that is
  // damaged or missing, naming its number; those before it were visited.
  using Visit = std::function<void(std::uint64_t seq, const JournalEntry&)>;
  Refusal for_each_from(std::uint64_t seq, const Visit& visit);

  // These write at once, in a transaction of their own, durable on return, and want a Journal that
  // is sound. A snapshot is of committed entries, and replaces older ones; entries may be dropped
  // as far as the snapshot goes.
  Refusal save_snapshot(const Snapshot& snapshot);
  Result<std::optional<Snapshot>> newest_snapshot();
  Refusal truncate_before(std::uint64_t seq);

  // Deletes at most so many jobs that were over before this instant, oldest ends first, with their
  // attempts, keys and events. Gives how many went: fewer than `most` when no more are left.
  Result<std::size_t> forget_ended_before(Instant before, std::size_t most);

 private:
  Journal(FileLock lock, Database database);
  Refusal prepare();
  Refusal read_counters();
  template <class Write>
  Refusal transact(const Write& write);
  int write_buffered();
  void drop_buffered();
  Refusal fail(int code);
  void checkpoint_if_due();
  void give_up(Error error);

  FileLock lock_;
  Database database_;
  struct Statements {
    Statement begin, commit, rollback, entry, job, attempt, key, find_key, counters, read, snapshot,
        drop_snapshots, newest, truncate, forget_jobs, forget_attempts, forget_keys, event,
        thin_events, forget_events;
  };
  Statements sql_;
  std::unique_ptr<int> log_pages_;  // In SQLite's write-ahead log after the last commit.

  std::uint64_t next_seq_ = 1;  // With what is buffered; the ones on disk are below.
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

  JournalHealth health_ = JournalHealth::kSound;
  Refusal failure_;  // Why it is not sound.
};

}  // namespace muster
