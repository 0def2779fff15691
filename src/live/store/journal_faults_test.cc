// Errors and contents of the journal after a full disk, a failed disk, a power failure, or
// corrupted bytes.

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/types/random.h"
#include "live/store/faulty_disk_testing.h"
#include "live/store/journal.h"
#include "live/store/testing.h"

namespace muster {
namespace {

using Fault = FaultyDisk::Fault;

// Commits batches of two until one is refused. Gives how many entries were acknowledged.
std::uint64_t fill(Journal& journal, int batches) {
  for (int batch = 0; batch < batches; ++batch) {
    const std::uint64_t acknowledged = journal.next_seq() - 1;
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(journal.append(entry(static_cast<int>(journal.next_seq()))).ok());
      EXPECT_FALSE(journal.put(job_row(journal.next_id())));
    }
    if (journal.commit()) return acknowledged;
  }
  return journal.next_seq() - 1;
}

void expect_entries(Journal& journal, std::uint64_t least, std::uint64_t most) {
  const Entries found = entries_from(journal, 1);
  EXPECT_GE(found.size(), least);
  EXPECT_LE(found.size(), most);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, i + 1);
    EXPECT_EQ(found[i].second, entry(static_cast<int>(i + 1)));
  }
  EXPECT_EQ(journal.next_seq(), found.size() + 1);
  EXPECT_EQ(journal.next_id(), found.size() + 1) << "counters that went apart";
}

TEST(JournalFaults, AFullDiskBlocksAndAllIsWrittenOnceThereIsSpace) {
  int struck = 0;
  for (int after = 0; after < 40; after += 4) {
    const Scratch scratch;
    FaultyDisk disk;
    Journal journal = Journal::open(scratch / "j.db").value();
    disk.fail(Fault::kFull, after);
    const std::uint64_t acknowledged = fill(journal, 10);
    if (!disk.struck()) continue;
    ++struck;
    EXPECT_EQ(journal.health(), JournalHealth::kBlocked);
    EXPECT_EQ(journal.buffered(), 2U);
    expect_refused(journal.commit(), "j.db: cannot write: database or disk is full");
    EXPECT_EQ(entries_from(journal, 1).size(), acknowledged);
    ASSERT_TRUE(journal.append(entry(static_cast<int>(acknowledged) + 3)).ok());

    disk.mend();
    EXPECT_FALSE(journal.commit());
    EXPECT_EQ(journal.health(), JournalHealth::kSound);
    EXPECT_EQ(journal.buffered(), 0U);
    EXPECT_EQ(entries_from(journal, 1).size(), acknowledged + 3);
    EXPECT_EQ(entries_from(journal, 1).back().second, entry(static_cast<int>(acknowledged) + 3));

    const Scratch copied;  // Remains of failed commits in the log do not count as damage.
    disk.power_cut(copied / "");
    Result<Journal> copy = Journal::open(copied / "j.db");
    ASSERT_TRUE(copy.ok()) << copy.error().message;
    EXPECT_EQ(entries_from(copy.value(), 1).size(), acknowledged + 3);
  }
  EXPECT_GT(struck, 5);
}

TEST(JournalFaults, ADiskThatFailsBreaksItForGood) {
  int struck = 0;
  for (const Fault fault : {Fault::kBadWrite, Fault::kBadSync}) {
    for (int after = 0; after < 28; after += fault == Fault::kBadSync ? 2 : 5) {
      const Scratch scratch;
      FaultyDisk disk;
      std::uint64_t acknowledged = 0;
      {
        Journal journal = Journal::open(scratch / "j.db").value();
        disk.fail(fault, after);
        acknowledged = fill(journal, 10);
        if (!disk.struck()) continue;
        ++struck;
        disk.mend();  // Too late: the content of the disk is unknown.
        EXPECT_EQ(journal.health(), JournalHealth::kBroken);
        for (int i = 0; i < 2; ++i) {
          expect_refused(journal.commit(), "j.db: cannot write: disk I/O error");
        }
        EXPECT_EQ(journal.buffered(), 2U);
        expect_refused(journal.save_snapshot({0, ""}), "disk I/O error");
        EXPECT_FALSE(journal.forget_ended_before(Instant(), 1).ok());
      }
      Journal journal = Journal::open(scratch / "j.db").value();
      expect_entries(journal, acknowledged, acknowledged + 2);
    }
  }
  EXPECT_GT(struck, 8);
}

// Enough to fill the log, so that pages go over to the database. The commit before holds.
TEST(JournalFaults, ACheckpointThatCannotSyncBreaksItToo) {
  const Scratch scratch;
  std::uint64_t acknowledged = 0;
  FaultyDisk disk;
  {
    Journal journal = Journal::open(scratch / "j.db").value();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(journal.append({"big", Instant(), std::string(kLargestText, 'x')}).ok());
    }
    ASSERT_FALSE(journal.commit());
    ASSERT_TRUE(journal.append({"big", Instant(), std::string(kLargestText, 'y')}).ok());
    disk.fail(Fault::kBadSync, 1);  // One for the commit; the next is the checkpoint's.
    EXPECT_FALSE(journal.commit());
    ASSERT_TRUE(disk.struck());
    acknowledged = 4;
    disk.mend();
    EXPECT_EQ(journal.health(), JournalHealth::kBroken);
    ASSERT_TRUE(journal.append(entry(5)).ok());
    expect_refused(journal.commit(), "disk I/O error");
  }
  EXPECT_GT(std::filesystem::file_size(scratch / "j.db-wal"), kLargestText) << "the log is lost";
  Journal journal = Journal::open(scratch / "j.db").value();
  EXPECT_EQ(entries_from(journal, 1).size(), acknowledged);
}

TEST(JournalFaults, APowerCutTakesNothingThatWasAcknowledged) {
  for (int batches = 0; batches < 8; ++batches) {
    const Scratch scratch;
    const Scratch after;
    FaultyDisk disk;
    Journal journal = Journal::open(scratch / "j.db").value();
    const int syncs = disk.syncs();
    const std::uint64_t acknowledged = fill(journal, batches);
    EXPECT_GE(disk.syncs(), syncs + batches);
    ASSERT_TRUE(journal.append(entry(99)).ok());  // Buffered only.
    disk.power_cut(after / "");
    Journal recovered = Journal::open(after / "j.db").value();
    expect_entries(recovered, acknowledged, acknowledged);
  }
}

// In a separate process, because the limit applies to all files and cannot be removed.
TEST(JournalFaults, ALimitOnFileSizeIsRefusedInOneLine) {
  const Scratch scratch;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    Journal journal = Journal::open(scratch / "j.db").value();
    const rlimit limit = {256 << 10, 256 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 1; i < 10'000; ++i) {
      if (!journal.append({"test", Instant(), std::string(1000, 'x')}).ok()) _exit(1);
      if (const MaybeError refusal = journal.commit()) {
        const bool said =
            refusal->message.find("cannot write: disk I/O error") != std::string::npos;
        _exit(said && journal.health() == JournalHealth::kBroken ? 42 : 2);
      }
    }
    _exit(3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_TRUE(Journal::open(scratch / "j.db").ok());
}

TEST(JournalFaults, ARealDiskThatFillsUpAndIsCleared) {
  const Scratch scratch;
  const std::string disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "mounting a small disk needs root: " << std::strerror(errno);
  }
  {
    Journal journal = Journal::open(disk + "/j.db").value();
    write_bytes(disk + "/ballast", std::string(1 << 20, 'x'));
    MaybeError refusal;
    for (int i = 0; i < 10'000 && !refusal; ++i) {
      ASSERT_TRUE(journal.append({"test", Instant(), std::string(1000, 'x')}).ok());
      refusal = journal.commit();
    }
    expect_refused(refusal, "database or disk is full");
    EXPECT_EQ(journal.health(), JournalHealth::kBlocked);
    std::filesystem::remove(disk + "/ballast");
    EXPECT_FALSE(journal.commit());
    EXPECT_EQ(entries_from(journal, 1).size(), journal.next_seq() - 1);
  }
  umount(disk.c_str());
}

// ---- other bytes

class DamagedJournal : public testing::Test {
 protected:
  void SetUp() override {
    Journal journal = Journal::open(path()).value();
    for (int i = 1; i <= 300; ++i) ASSERT_TRUE(journal.append(entry(i)).ok());
    ASSERT_FALSE(journal.commit());
    ASSERT_FALSE(journal.save_snapshot({3, "three"}));
  }
  std::string path() const { return scratch_ / "j.db"; }

  Scratch scratch_;
};

TEST_F(DamagedJournal, AnEntryIsRefusedByItsNumber) {
  const std::string changes[] = {"body = '{\"n\": 8}'", "kind = 'tesu'", "at = at + 1",
                                 "checksum = checksum + 1"};
  for (const std::string& change : changes) {
    hammer(path(),
           "CREATE TABLE kept AS SELECT * FROM entries WHERE seq = 7;"
           "UPDATE entries SET " +
               change + " WHERE seq = 7");
    {
      Journal journal = Journal::open(path()).value();
      std::uint64_t visited = 0;
      const auto count = [&](std::uint64_t, const JournalEntry&) { ++visited; };
      expect_refused(journal.for_each_from(1, count), "j.db: entry 7 is damaged");
      EXPECT_EQ(visited, 6U);
      EXPECT_FALSE(journal.for_each_from(8, count));
    }
    hammer(path(), "REPLACE INTO entries SELECT * FROM kept; DROP TABLE kept");
  }
}

TEST_F(DamagedJournal, AMissingEntryIsRefusedByItsNumber) {
  const auto nothing = [](std::uint64_t, const JournalEntry&) {};
  hammer(path(), "DELETE FROM entries WHERE seq = 300");
  expect_refused(Journal::open(path()).value().for_each_from(1, nothing), "entry 300 is missing");
  hammer(path(), "DELETE FROM entries WHERE seq = 12");
  expect_refused(Journal::open(path()).value().for_each_from(1, nothing), "entry 12 is missing");
}

TEST_F(DamagedJournal, ASnapshotIsRefused) {
  hammer(path(), "UPDATE snapshots SET body = 'there'");
  Journal journal = Journal::open(path()).value();
  expect_refused(journal.newest_snapshot().error(), "the snapshot of entry 3 is damaged");
  expect_refused(journal.truncate_before(3), "the snapshot of entry 3 is damaged");
}

TEST_F(DamagedJournal, ACounterThatFellBehindIsRefused) {
  hammer(path(), "UPDATE meta SET value = 300 WHERE name = 'next_seq'");
  expect_unopenable(path(), "a counter is lower than an existing number");
  hammer(path(), "DELETE FROM meta WHERE name = 'next_seq'");
  expect_unopenable(path(), "damaged: a value is missing");
}

// Torn anywhere, or with a page of noise anywhere: refused in one line, or every entry is sound.
TEST_F(DamagedJournal, IsRefusedOrWholeWhateverHappenedToTheFile) {
  const std::string whole = read_bytes(path());
  Random random(3);
  int refused = 0;
  for (int round = 0; round < 120; ++round) {
    std::string bytes = whole;
    const std::size_t at = random.below(whole.size());
    if (round % 3 == 0) {
      bytes.resize(at);
    } else if (round % 3 == 1) {
      for (std::size_t i = at; i < std::min(at + 600, bytes.size()); ++i) {
        bytes[i] = static_cast<char>(random.next());
      }
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    }
    write_bytes(path(), bytes);
    Result<Journal> journal = Journal::open(path());
    if (!journal.ok()) {
      ++refused;
      expect_refused(journal.error(), "j.db: ");
      continue;
    }
    std::uint64_t visited = 0;
    const MaybeError refusal =
        journal.value().for_each_from(1, [&](std::uint64_t seq, const JournalEntry& e) {
          EXPECT_EQ(e, entry(static_cast<int>(seq)));
          ++visited;
        });
    EXPECT_TRUE(refusal || visited == 300 || bytes.empty()) << "round " << round << " at " << at;
    refused += refusal ? 1 : 0;
  }
  EXPECT_GT(refused, 40);
}

// ---- the log, as a crash leaves it

class LeftLog : public testing::Test {
 protected:
  static constexpr int kBatches = 6;

  void SetUp() override {
    Journal journal = Journal::open(path()).value();
    for (int batch = 0; batch < kBatches; ++batch) {
      fill(journal, 1);
      ends_.push_back(std::filesystem::file_size(path() + "-wal"));
    }
    database_ = read_bytes(path());
    log_ = read_bytes(path() + "-wal");
  }
  Result<Journal> open_with(const std::string& log) {
    write_bytes(path(), database_);
    write_bytes(path() + "-wal", log);
    std::filesystem::remove(path() + "-shm");
    return Journal::open(path());
  }
  std::string path() const { return scratch_ / "j.db"; }

  Scratch scratch_;
  std::vector<std::size_t> ends_;  // Size of the log after each commit.
  std::string database_;
  std::string log_;
};

// The last transaction goes, those before it stay.
TEST_F(LeftLog, TornAtItsEndIsWholeBeforeTheTear) {
  for (std::size_t size = ends_[1]; size <= log_.size(); size += 2003) {
    std::uint64_t whole = 0;
    for (const std::size_t end : ends_) whole += end <= size ? 2 : 0;
    Result<Journal> journal = open_with(log_.substr(0, size));
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    expect_entries(journal.value(), whole, whole);
  }
}

TEST_F(LeftLog, DamagedIsRefusedThroughALinkToo) {
  log_[ends_[0]] = static_cast<char>(log_[ends_[0]] ^ 1);
  write_bytes(path(), database_);
  write_bytes(path() + "-wal", log_);
  std::filesystem::create_symlink(path(), scratch_ / "alias.db");
  expect_unopenable(scratch_ / "alias.db", "j.db-wal: damaged: ");
}

// SQLite alone would take the damage for the end, and lose what was acknowledged.
TEST_F(LeftLog, DamagedBeforeItsLastTransactionIsRefused) {
  Random random(5);
  const std::size_t last = ends_[kBatches - 2];
  for (int round = 0; round < 60; ++round) {
    std::string bytes = log_;
    const std::size_t at = random.below(round < 20 ? 24 : last);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    const Result<Journal> journal = open_with(bytes);
    ASSERT_FALSE(journal.ok()) << "round " << round << " at " << at;
    expect_refused(journal.error(), "j.db-wal: damaged: ");
  }
  for (int round = 0; round < 20; ++round) {  // Which no sync may have followed.
    std::string bytes = log_;
    const std::size_t at = last + random.below(log_.size() - last);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    Result<Journal> journal = open_with(bytes);
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    expect_entries(journal.value(), 2 * kBatches - 2, 2 * kBatches - 2);
  }
}

// A log is used again from its start; what is left of its last life is not damage.
TEST_F(LeftLog, WithAnEarlierOnesRestIsFine) {
  Journal journal = open_with(log_).value();
  ASSERT_TRUE(journal.append({"big", Instant(), std::string(kLargestText, 'x')}).ok());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(journal.append({"big", Instant(), std::string(kLargestText, 'x')}).ok());
    ASSERT_FALSE(journal.commit());
  }
  const std::size_t size = std::filesystem::file_size(path() + "-wal");
  ASSERT_TRUE(journal.append({"small", Instant(), "{}"}).ok());
  ASSERT_FALSE(journal.commit());
  ASSERT_EQ(std::filesystem::file_size(path() + "-wal"), size) << "the log was not used again";
  const Scratch other;
  for (const char* end : {"", "-wal"}) {
    write_bytes(other / ("j.db" + std::string(end)), read_bytes(path() + end));
  }
  Result<Journal> copy = Journal::open(other / "j.db");
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_EQ(entries_from(copy.value(), 1).size(), journal.next_seq() - 1);
}

}  // namespace
}  // namespace muster
