#include "live/store/journal_reader.h"

#include "live/store/testing.h"

namespace muster {
namespace {

std::vector<std::uint64_t> ids_of(JournalReader& reader) {
  std::vector<std::uint64_t> ids;
  EXPECT_FALSE(reader.for_each_job(0, [&](JobRow&& row) {
    ids.push_back(row.id);
    return true;
  }));
  return ids;
}

void add(Journal& journal, int number) {
  ASSERT_TRUE(journal.append(entry(number)).ok());
  JobRow job = job_row(journal.next_id());
  ASSERT_FALSE(journal.put(AttemptRow{job.id, 1, "running", "n:0", {}, {}, ""}));
  ASSERT_FALSE(journal.put(std::move(job)));
  ASSERT_FALSE(journal.commit());
}

TEST(JournalReader, SeesTheFileAsItWasAtFirstWhateverIsWrittenMeanwhile) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  for (int i = 1; i <= 3; ++i) add(journal, i);
  ASSERT_FALSE(journal.save_snapshot({1, "state"}));
  ASSERT_FALSE(journal.truncate_before(2));

  Result<JournalReader> opened = JournalReader::open(scratch / "j.db");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  JournalReader reader = std::move(opened).value();
  add(journal, 4);
  ASSERT_FALSE(journal.save_snapshot({4, "later"}));
  ASSERT_FALSE(journal.truncate_before(5));

  const std::optional<Snapshot> snapshot = reader.newest_snapshot().value();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->body, "state");
  std::vector<std::uint64_t> numbers;
  const MaybeError refusal =
      reader.for_each_from(snapshot->seq + 1, [&](std::uint64_t number, const JournalEntry& one) {
        EXPECT_EQ(one, entry(static_cast<int>(number)));
        numbers.push_back(number);
      });
  EXPECT_FALSE(refusal);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(ids_of(reader), (std::vector<std::uint64_t>{1, 2, 3}));
  std::vector<AttemptRow> attempts;
  EXPECT_FALSE(reader.for_each_attempt(0, [&](AttemptRow&& row) {
    attempts.push_back(std::move(row));
    return true;
  }));
  ASSERT_EQ(attempts.size(), 3U);
  EXPECT_EQ(attempts[2].job, 3U);
  EXPECT_EQ(attempts[2].nodes, "n:0");
}

TEST(JournalReader, ReadsOnlyTheLatestAndUntilItIsTold) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  EXPECT_EQ(JournalReader::open(scratch / "j.db").value().last_job().value(), 0U);
  for (int i = 1; i <= 5; ++i) add(journal, i);
  JournalReader reader = JournalReader::open(scratch / "j.db").value();
  EXPECT_EQ(reader.last_job().value(), 5U);
  EXPECT_EQ(reader.jobs_up_to(2).value(), 2U);
  std::vector<std::uint64_t> seen;
  EXPECT_FALSE(reader.for_each_attempt(2, [&](AttemptRow&& row) {
    seen.push_back(row.job);
    return true;
  }));
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{3, 4, 5}));
  seen.clear();
  EXPECT_FALSE(reader.for_each_job(2, [&](JobRow&& row) {
    seen.push_back(row.id);
    return row.id < 4;
  }));
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{3, 4}));
}

TEST(JournalReader, NamesTheEntryThatIsDamagedOrMissing) {
  for (const auto& [sql, what] :
       {std::pair("UPDATE entries SET body = 'x' WHERE seq = 2", "entry 2 is damaged"),
        std::pair("DELETE FROM entries WHERE seq = 2", "entry 2 is missing"),
        std::pair("DELETE FROM entries WHERE seq = 3", "entry 3 is missing")}) {
    const Scratch scratch;
    {
      Journal journal = Journal::open(scratch / "j.db").value();
      for (int i = 1; i <= 3; ++i) add(journal, i);
    }
    hammer(scratch / "j.db", sql);
    JournalReader reader = JournalReader::open(scratch / "j.db").value();
    expect_refused(reader.for_each_from(1, [](std::uint64_t, const JournalEntry&) {}), what);
  }
}

TEST(JournalReader, RefusesWhatIsNoJournal) {
  const Scratch scratch;
  const auto refused = [&](const std::string& name, const std::string& part) {
    const Result<JournalReader> reader = JournalReader::open(scratch / name);
    ASSERT_FALSE(reader.ok());
    expect_refused(reader.error(), part);
  };
  refused("none.db", "no such file");
  write_bytes(scratch / "empty.db", "");
  refused("empty.db", "empty");
  write_bytes(scratch / "text.db", std::string(5000, 'x'));
  refused("text.db", "text.db");
  hammer(scratch / "other.db", "CREATE TABLE t (a)");
  refused("other.db", "not a Muster journal");
}

}  // namespace
}  // namespace muster
