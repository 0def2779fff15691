#include "live/store/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/store/audit_reader.h"
#include "live/store/job_reader.h"
#include "live/store/journal_reader.h"
#include "live/store/testing.h"

namespace muster {
namespace {

TEST(Journal, GivesBackWhatWasCommittedAndNothingElse) {
  const Scratch scratch;
  {
    Result<Journal> opened = Journal::open(scratch / "j.db");
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    Journal& journal = opened.value();
    EXPECT_FALSE(journal.commit());  // Nothing is fine too.
    EXPECT_EQ(journal.append(entry(1)).value(), 1U);
    EXPECT_EQ(journal.append(entry(2)).value(), 2U);
    EXPECT_TRUE(entries_from(journal, 1).empty());
    EXPECT_EQ(journal.buffered(), 2U);
    EXPECT_FALSE(journal.commit());
    EXPECT_EQ(journal.buffered(), 0U);
    EXPECT_EQ(entries_from(journal, 1), (Entries{{1, entry(1)}, {2, entry(2)}}));
    EXPECT_EQ(journal.append(entry(3)).value(), 3U);  // Never committed.
  }
  Result<Journal> again = Journal::open(scratch / "j.db");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(entries_from(again.value(), 1), (Entries{{1, entry(1)}, {2, entry(2)}}));
  EXPECT_EQ(entries_from(again.value(), 2), (Entries{{2, entry(2)}}));
  EXPECT_TRUE(entries_from(again.value(), 3).empty());
  EXPECT_EQ(again.value().append(entry(4)).value(), 3U);
}

TEST(Journal, KeepsAnyBytes) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const JournalEntry odd{"'; DROP TABLE entries; --", Instant::micros(-5), all};
  const JournalEntry empty{"", Instant::never(), ""};
  ASSERT_TRUE(journal.append(odd).ok());
  ASSERT_TRUE(journal.append(empty).ok());
  ASSERT_FALSE(journal.commit());
  EXPECT_EQ(entries_from(journal, 1), (Entries{{1, odd}, {2, empty}}));
}

TEST(Journal, CapsSizes) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  const JournalEntry largest{"test", Instant(), std::string(kLargestText, 'x')};
  ASSERT_TRUE(journal.append(largest).ok());
  JournalEntry larger = largest;
  larger.body += 'x';
  EXPECT_EQ(journal.append(larger).error().message,
            "body of entry: 1048577 bytes, more than 1048576");
  EXPECT_FALSE(journal.append({std::string(5000, 'k'), Instant(), ""}).ok());
  JobRow job = job_row(journal.next_id());
  job.spec = larger.body;
  expect_refused(journal.put(job), "spec of job: 1048577 bytes");
  job.spec = "{}";
  job.name = std::string(5000, 'n');
  expect_refused(journal.put(job), "text of job: 5000 bytes");
  expect_refused(journal.keep_key("ann", std::string(5000, 'k'), 1), "idempotency key");
  ASSERT_FALSE(journal.commit());
  EXPECT_EQ(entries_from(journal, 1), (Entries{{1, largest}}));
}

TEST(Journal, NeverGivesAnIdTwiceEvenAfterTheNewestJobsWereDeleted) {
  const Scratch scratch;
  {
    Journal journal = Journal::open(scratch / "j.db").value();
    for (std::uint64_t id = 1; id <= 3; ++id) {
      ASSERT_EQ(journal.next_id(), id);
      JobRow job = job_row(id);
      job.ended = Instant::micros(static_cast<std::int64_t>(id));
      ASSERT_FALSE(journal.put(job));
    }
    ASSERT_FALSE(journal.commit());
    EXPECT_EQ(journal.forget_ended_before(Instant::micros(100), 10).value(), 3U);
    EXPECT_EQ(journal.next_id(), 4U);
    ASSERT_FALSE(journal.commit());  // An id alone is a change too.
  }
  Journal journal = Journal::open(scratch / "j.db").value();
  EXPECT_EQ(journal.next_id(), 5U);
}

TEST(Journal, GoesOnFromASnapshot) {
  const Scratch scratch;
  {
    Journal journal = Journal::open(scratch / "j.db").value();
    EXPECT_FALSE(journal.newest_snapshot().value());
    for (int i = 1; i <= 9; ++i) ASSERT_TRUE(journal.append(entry(i)).ok());
    ASSERT_FALSE(journal.commit());
    ASSERT_FALSE(journal.save_snapshot({4, "four"}));
    ASSERT_FALSE(journal.save_snapshot({7, "seven"}));
    ASSERT_FALSE(journal.truncate_before(8));
  }
  {
    Journal journal = Journal::open(scratch / "j.db").value();
    const std::optional<Snapshot> snapshot = journal.newest_snapshot().value();
    ASSERT_TRUE(snapshot);
    EXPECT_EQ(snapshot->seq, 7U);
    EXPECT_EQ(snapshot->body, "seven");
    EXPECT_EQ(entries_from(journal, 8), (Entries{{8, entry(8)}, {9, entry(9)}}));
    expect_refused(journal.for_each_from(7, [](std::uint64_t, const JournalEntry&) {}),
                   "j.db: entry 7 is missing");
    ASSERT_FALSE(journal.save_snapshot({9, "nine"}));
    ASSERT_FALSE(journal.truncate_before(10));
  }
  Journal journal = Journal::open(scratch / "j.db").value();
  EXPECT_TRUE(entries_from(journal, 10).empty());
  EXPECT_EQ(journal.append(entry(10)).value(), 10U);  // Though there is no entry left.
}

TEST(Journal, FindsTheJobOfAKeyBufferedOrCommitted) {
  const Scratch scratch;
  {
    Journal journal = Journal::open(scratch / "j.db").value();
    const std::uint64_t id = journal.next_id();
    EXPECT_EQ(journal.job_of_key("ann", "run-1").value(), std::nullopt);
    ASSERT_FALSE(journal.keep_key("ann", "run-1", id));
    EXPECT_EQ(journal.job_of_key("ann", "run-1").value(), id);
    EXPECT_EQ(journal.job_of_key("bob", "run-1").value(), std::nullopt);
    EXPECT_EQ(journal.job_of_key("ann", "run-_").value(), std::nullopt);
    JobRow job = job_row(id);
    job.ended = Instant::micros(5);
    ASSERT_FALSE(journal.put(job));
    ASSERT_FALSE(journal.commit());
  }
  Journal journal = Journal::open(scratch / "j.db").value();
  EXPECT_EQ(journal.job_of_key("ann", "run-1").value(), 1U);
  ASSERT_EQ(journal.forget_ended_before(Instant::micros(6), 1).value(), 1U);
  EXPECT_EQ(journal.job_of_key("ann", "run-1").value(), std::nullopt);
}

TEST(Journal, IsItsOwnersAlone) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  ASSERT_TRUE(journal.append(entry(1)).ok());
  ASSERT_FALSE(journal.commit());
  for (const char* name : {"j.db", "j.db-wal", "j.db-shm", "j.db.lock"}) {
    struct stat facts = {};
    ASSERT_EQ(stat((scratch / name).c_str(), &facts), 0) << name;
    EXPECT_EQ(facts.st_mode & 0777, 0600U) << name;
  }
}

TEST(Journal, HasOneHolder) {
  const Scratch scratch;
  std::filesystem::create_symlink(scratch / "j.db", scratch / "alias.db");
  {
    Result<Journal> first = Journal::open(scratch / "j.db");
    ASSERT_TRUE(first.ok());
    const std::string who = "in use by another muster (process " + std::to_string(getpid()) + ")";
    expect_unopenable(scratch / "j.db", "j.db: " + who);
    expect_unopenable(scratch / "alias.db", "alias.db: " + who);
  }
  EXPECT_TRUE(Journal::open(scratch / "j.db").ok());
}

TEST(Journal, OfAnotherProcessIsRefusedUntilThatIsGone) {
  const Scratch scratch;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Result<Journal> journal = Journal::open(scratch / "j.db");
    const char verdict = journal.ok() ? 'y' : 'n';
    if (write(ends[1], &verdict, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char verdict = 0;
  ASSERT_EQ(read(ends[0], &verdict, 1), 1);
  EXPECT_EQ(verdict, 'y');
  expect_unopenable(scratch / "j.db",
                    "in use by another muster (process " + std::to_string(child) + ")");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Journal::open(scratch / "j.db").ok());
  close(ends[0]);
  close(ends[1]);
}

TEST(Journal, CannotBeMadeWhereThereIsNoFolder) {
  expect_unopenable("/nowhere/at/all/j.db", "/nowhere/at/all/j.db: cannot lock: No such file");
}

// ---- versions

// The original version 1, independent of the current code.
constexpr const char* kVersionOne = R"(
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES ('next_seq', 3), ('next_id', 8);
  CREATE TABLE entries (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
    checksum INTEGER NOT NULL);
  CREATE TABLE snapshots (
    seq INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL);
  PRAGMA application_id = 1297306706;
  PRAGMA user_version = 1;
)";

// Two entries as version 1 wrote them: the checksums are its, too.
void make_version_one(const std::string& path) {
  hammer(path, kVersionOne);
  hammer(path, R"(INSERT INTO entries VALUES (1, 'test', 1, '{"n": 1}', 7159541727101487),
                                            (2, 'test', 2, '{"n": 2}', -1146473978685146324))");
}

TEST(JournalVersions, TheFirstBecomesTodays) {
  const Scratch scratch;
  make_version_one(scratch / "j.db");
  const Result<JobReader> early = JobReader::open(scratch / "j.db");
  ASSERT_FALSE(early.ok());
  EXPECT_NE(early.error().message.find("older version"), std::string::npos);

  Result<Journal> opened = Journal::open(scratch / "j.db");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Journal& journal = opened.value();
  EXPECT_EQ(entries_from(journal, 1), (Entries{{1, entry(1)}, {2, entry(2)}}));
  EXPECT_EQ(journal.next_id(), 8U);
  ASSERT_FALSE(journal.put(job_row(8)));
  ASSERT_FALSE(journal.commit());
  EXPECT_EQ(JobReader::open(scratch / "j.db").value().job(8).value(), job_row(8));
}

// Version 2 has no events, so a replay must create the events of its entries.
TEST(JournalVersions, TheSecondGetsAPlaceForEvents) {
  const Scratch scratch;
  {
    Journal journal = Journal::open(scratch / "j.db").value();
    EXPECT_EQ(journal.events_from(), 1U);
    ASSERT_FALSE(journal.put(job_row(journal.next_id())));
    for (int i = 1; i <= 2; ++i) ASSERT_TRUE(journal.append(entry(i)).ok());
    ASSERT_FALSE(journal.commit());
  }
  hammer(scratch / "j.db",
         "DROP INDEX attempts_by_end; DROP TABLE events;"
         "DROP TABLE audit; DROP TABLE ticket_generations;"
         "DELETE FROM meta WHERE name = 'events_from'; PRAGMA user_version = 2");
  const Result<JobReader> early = JobReader::open(scratch / "j.db");
  ASSERT_FALSE(early.ok());
  EXPECT_NE(early.error().message.find("older version"), std::string::npos);
  EXPECT_TRUE(JournalReader::open(scratch / "j.db").ok()) << "the tables it reads are unchanged";

  Result<Journal> opened = Journal::open(scratch / "j.db");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Journal& journal = opened.value();
  EXPECT_EQ(journal.events_from(), 3U);
  EXPECT_EQ(journal.last_event(), 0U);
  EXPECT_EQ(entries_from(journal, 1).size(), 2U);
  const EventRow event{1, 1, "ann", R"({"kind":"submitted"})", ""};
  ASSERT_FALSE(journal.put(event));
  ASSERT_FALSE(journal.commit());
  JobReader reader = JobReader::open(scratch / "j.db").value();
  EXPECT_EQ(reader.job(1).value(), job_row(1));
  EXPECT_EQ(reader.events({}).value(), std::vector{event});
}

TEST(JournalVersions, TheFourthGetsAPlaceForTheAudit) {
  const Scratch scratch;
  {
    Journal journal = Journal::open(scratch / "j.db").value();
    ASSERT_TRUE(journal.append(entry(1)).ok());
    ASSERT_FALSE(journal.commit());
  }
  hammer(scratch / "j.db",
         "DROP TABLE audit; DROP TABLE ticket_generations; PRAGMA user_version = 4");
  Result<Journal> opened = Journal::open(scratch / "j.db");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(entries_from(opened.value(), 1).size(), 1U);
  EXPECT_TRUE(opened.value().ticket_generations().empty());
  AuditRow row;
  row.user = "ann";
  opened.value().put(row);
  ASSERT_FALSE(opened.value().commit());
  row.number = 1;
  EXPECT_EQ(AuditReader::open(scratch / "j.db").value().rows({}).value(), std::vector{row});
}

TEST(JournalVersions, AStepThatFailsLeavesTheFileAsItWas) {
  const Scratch scratch;
  make_version_one(scratch / "j.db");
  hammer(scratch / "j.db", "CREATE TABLE keys (mine INTEGER)");  // In the way of the step.
  for (int i = 0; i < 2; ++i) expect_unopenable(scratch / "j.db", "table keys already exists");
  hammer(scratch / "j.db", "DROP TABLE keys");
  Result<Journal> opened = Journal::open(scratch / "j.db");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(entries_from(opened.value(), 1).size(), 2U);
}

TEST(JournalVersions, ANewerOneIsRefusedAndUntouched) {
  const Scratch scratch;
  { ASSERT_TRUE(Journal::open(scratch / "j.db").ok()); }
  hammer(scratch / "j.db", "PRAGMA user_version = 6");
  const std::string before = read_bytes(scratch / "j.db");
  expect_unopenable(
      scratch / "j.db",
      "j.db: written by a newer Muster: version 6, but this one supports versions up to 5");
  EXPECT_EQ(read_bytes(scratch / "j.db"), before);
}

TEST(JournalVersions, SomebodyElsesFileIsRefusedAndUntouched) {
  const Scratch scratch;
  hammer(scratch / "j.db", "CREATE TABLE photos (name TEXT)");
  const std::string before = read_bytes(scratch / "j.db");
  expect_unopenable(scratch / "j.db", "j.db: not a Muster journal");
  EXPECT_EQ(read_bytes(scratch / "j.db"), before);
}

}  // namespace
}  // namespace muster
