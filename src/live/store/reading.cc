#include "live/store/reading.h"

#include <fmt/format.h>

#include <string>

#include "live/store/checksum.h"

namespace muster {

JobRow job_row(const Statement& row) {
  JobRow job;
  job.id = row.number(0);
  job.key = row.text(1);
  job.tenant = row.text(2);
  job.user = row.text(3);
  job.name = row.text(4);
  job.state = row.text(5);
  job.spec = row.text(6);
  job.submitted = Instant::micros(row.integer(7));
  job.started = row.instant(8);
  job.ended = row.instant(9);
  job.attempts = static_cast<std::uint32_t>(row.integer(10));
  job.exit = row.text(11);
  return job;
}

AttemptRow attempt_row(const Statement& row) {
  AttemptRow attempt;
  attempt.job = row.number(0);
  attempt.number = static_cast<std::uint32_t>(row.integer(1));
  attempt.state = row.text(2);
  attempt.nodes = row.text(3);
  attempt.started = row.instant(4);
  attempt.ended = row.instant(5);
  attempt.exit = row.text(6);
  return attempt;
}

MaybeError visit_entries(const Database& database, Statement& read, std::uint64_t seq,
                         std::uint64_t end, const Journal::Visit& visit) {
  std::uint64_t expected = seq;
  std::string wrong;
  read.start(seq);
  while (read.next()) {
    if (!wrong.empty()) continue;
    const std::uint64_t found = read.number(0);
    JournalEntry entry{read.text(1), Instant::micros(read.integer(2)), read.text(3)};
    if (found != expected) {
      wrong = "missing";
    } else if (checksum(found, entry.kind, entry.at.us(), entry.body) != read.integer(4)) {
      wrong = "damaged";
    } else {
      visit(found, entry);
      ++expected;
    }
  }
  if (read.code() != SQLITE_OK) {
    return database.error(fmt::format("cannot read entry {}", expected));
  }
  if (wrong.empty() && expected != end) wrong = "missing";
  if (wrong.empty()) return std::nullopt;
  return Error{fmt::format("entry {} is {}", expected, wrong), ErrorCode::kCorrupt,
               database.path()};
}

Result<std::optional<Snapshot>> read_newest(const Database& database, Statement& newest) {
  std::optional<Snapshot> snapshot;
  bool sound = true;
  newest.start();
  while (newest.next()) {
    snapshot = Snapshot{newest.number(0), newest.text(1)};
    sound = checksum(snapshot->seq, "", 0, snapshot->body) == newest.integer(2);
  }
  if (newest.code() != SQLITE_OK) return database.error("cannot read the snapshot");
  if (!sound) {
    return Error{fmt::format("the snapshot of entry {} is damaged", snapshot->seq),
                 ErrorCode::kCorrupt, database.path()};
  }
  return snapshot;
}

}  // namespace muster
