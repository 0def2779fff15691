// The write functions of Journal: transactions, error handling and checkpoints.

#include <fmt/format.h>

#include "base/types/check.h"
#include "live/store/checksum.h"
#include "live/store/journal.h"

namespace muster {

namespace {

constexpr int kPagesPerCheckpoint = 1000;  // 4 MB of write-ahead log.

// Temporary errors: the disk is full or another process is writing. The file is unchanged.
bool may_pass(int code) {
  const int primary = code & 0xff;
  return primary == SQLITE_FULL || primary == SQLITE_BUSY || primary == SQLITE_NOMEM;
}

}  // namespace

// Runs `write` in one transaction. `write` returns SQLITE_OK or an error code.
template <class Write>
MaybeError Journal::transact(const Write& write) {
  if (health_ == JournalHealth::kBroken) return failure_;
  int code = sql_.begin.run();
  if (code == SQLITE_OK) code = write();
  if (code == SQLITE_OK) code = sql_.commit.run();
  if (code != SQLITE_OK) return fail(code);
  health_ = JournalHealth::kSound;
  failure_.reset();
  return std::nullopt;
}

MaybeError Journal::fail(int code) {
  failure_ = database_.error("cannot write");  // Before the rollback, which replaces the message.
  if (sqlite3_get_autocommit(database_.handle()) == 0) sql_.rollback.run();
  if (may_pass(code)) {
    health_ = JournalHealth::kBlocked;
  } else {
    give_up(*failure_);
  }
  return failure_;
}

// After a failed sync the kernel may treat dirty pages as clean, so a second sync would succeed
// falsely. Therefore the log stays unchanged for the process that opens the file next.
void Journal::give_up(Error error) {
  health_ = JournalHealth::kBroken;
  failure_ = std::move(error);
  sqlite3_db_config(database_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

MaybeError Journal::commit() {
  const bool idle = entries_.empty() && jobs_.empty() && attempts_.empty() && keys_.empty() &&
                    events_.empty() && audit_.empty() && raised_.empty() && next_id_ == durable_id_;
  if (health_ == JournalHealth::kSound && idle) return std::nullopt;
  if (MaybeError refusal = transact([&] { return write_buffered(); })) return refusal;
  drop_buffered();
  checkpoint_if_due();
  return std::nullopt;
}

int Journal::write_buffered() {
  int code = SQLITE_OK;
  const auto write = [&](Statement& statement, const auto&... values) {
    if (code == SQLITE_OK) code = statement.run(values...);
  };
  std::uint64_t seq = durable_seq_;
  for (const JournalEntry& entry : entries_) {
    write(sql_.entry, seq, entry.kind, entry.at, entry.body,
          checksum(seq, entry.kind, entry.at.us(), entry.body));
    ++seq;
  }
  MUSTER_CHECK(seq == next_seq_);
  for (const auto& [id, job] : jobs_) {
    write(sql_.job, job.id, job.key, job.tenant, job.user, job.name, job.state, job.spec,
          job.submitted, job.started, job.ended, job.attempts, job.exit);
  }
  for (const auto& [place, attempt] : attempts_) {
    write(sql_.attempt, attempt.job, attempt.number, attempt.state, attempt.nodes, attempt.started,
          attempt.ended, attempt.exit);
  }
  for (const auto& [key, job] : keys_) write(sql_.key, key.first, key.second, job);
  std::uint64_t written = 0;
  for (const EventRow& event : events_) {
    write(sql_.event, event.number, event.job, event.user, event.json, event.full);
    // A job of this transaction has at most this many events. Each submission saves a query.
    if (event.job >= durable_id_ && ++written <= kMaxEventsOfAJob) continue;
    write(sql_.thin_events, event.job, event.job == 0 ? 0 : kFirstEventsOfAJob,
          event.job == 0 ? kMaxEventsOfNoJob : kMaxEventsOfAJob);
  }
  for (const AuditRow& row : audit_) {
    write(sql_.audit, row.at, row.uid, row.user, row.via, row.address, row.verb, row.object,
          row.job, row.owner, row.owner_uid, static_cast<std::int64_t>(row.status), row.answer,
          row.dropped);
  }
  for (const std::uint32_t uid : raised_) write(sql_.generation, uid, generations_.at(uid));
  write(sql_.counters, next_seq_, next_id_);
  return code;
}

void Journal::drop_buffered() {
  entries_.clear();
  jobs_.clear();
  attempts_.clear();
  keys_.clear();
  events_.clear();
  audit_.clear();
  raised_.clear();
  durable_seq_ = next_seq_;
  durable_id_ = next_id_;
}

// Committed data is already durable in the log, so an error here is not an error of the commit. But
// a disk that fails to sync is not used any further.
void Journal::checkpoint_if_due() {
  if (*log_pages_ < kPagesPerCheckpoint) return;
  const int code = sqlite3_wal_checkpoint_v2(database_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             nullptr, nullptr);
  if (code != SQLITE_OK && !may_pass(code)) give_up(database_.error("cannot write"));
}

MaybeError Journal::save_snapshot(const Snapshot& snapshot) {
  MUSTER_CHECK(snapshot.seq < durable_seq_);
  if (snapshot.body.size() > kLargestSnapshot) {
    return Error{fmt::format("the snapshot has {} bytes; the limit is {}", snapshot.body.size(),
                             kLargestSnapshot),
                 ErrorCode::kTooLarge, database_.path()};
  }
  const MaybeError refusal = transact([&] {
    const int code = sql_.snapshot.run(snapshot.seq, snapshot.body,
                                       checksum(snapshot.seq, "", 0, snapshot.body));
    return code == SQLITE_OK ? sql_.drop_snapshots.run(snapshot.seq) : code;
  });
  if (!refusal) checkpoint_if_due();
  return refusal;
}

MaybeError Journal::truncate_before(std::uint64_t seq) {
  const Result<std::optional<Snapshot>> newest = newest_snapshot();
  if (!newest.ok()) return newest.error();
  MUSTER_CHECK(newest.value() && seq <= newest.value()->seq + 1);
  const MaybeError refusal = transact([&] { return sql_.truncate.run(seq); });
  if (!refusal) checkpoint_if_due();
  return refusal;
}

Result<std::size_t> Journal::forget_ended_before(Instant before, std::size_t most) {
  int gone = 0;
  const auto limit = static_cast<std::uint64_t>(most);
  const MaybeError refusal = transact([&] {
    int code = sql_.forget_attempts.run(before, limit);
    if (code == SQLITE_OK) code = sql_.forget_keys.run(before, limit);
    if (code == SQLITE_OK) code = sql_.forget_events.run(before, limit);
    if (code == SQLITE_OK) code = sql_.forget_jobs.run(before, limit);
    gone = sqlite3_changes(database_.handle());
    return code;
  });
  if (refusal) return *refusal;
  checkpoint_if_due();
  return static_cast<std::size_t>(gone);
}

MaybeError Journal::forget_audit_before(Instant before, std::size_t most) {
  const auto limit = static_cast<std::uint64_t>(most);
  const MaybeError refusal = transact([&] { return sql_.forget_audit.run(before, limit); });
  if (!refusal) checkpoint_if_due();
  return refusal;
}

}  // namespace muster
