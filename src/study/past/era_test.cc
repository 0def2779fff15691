#include "study/past/era.h"

#include "live/store/journal_reader.h"
#include "study/past/forge_testing.h"
#include "study/past/testing.h"

namespace muster {
namespace {

using whatif_testing::forge;
using whatif_testing::hammer;
using whatif_testing::kBorn;
using whatif_testing::Office;

constexpr const char* kPreempting =
    "scheduler: {policy: srtf, estimates: user, min_run: 0s, quantum: 1s, retry: 'fixed:2'}";

JobRequest era_wants(int gpus, int estimate = 0) {
  JobRequest request;
  request.gpus = gpus;
  request.estimate = Duration::seconds(estimate);
  return request;
}

// A long job is preempted by a short one that fails twice and then passes; one comes after it; one
// is held at first; one is cancelled.
void live_through_it(Office& office) {
  const LiveId lengthy = office.submit(0, era_wants(2, 1000));
  const LiveId shorter = office.submit(100, era_wants(2, 10), "bob");
  office.ends(110, shorter, LeaseResult::kFailed, "mpi-error");
  office.ends(125, shorter, LeaseResult::kFinished);
  JobRequest after = era_wants(1, 20);
  after.after_ok = {lengthy};
  const LiveId next = office.submit(130, after);
  JobRequest held = era_wants(1, 5);
  held.hold = true;
  const LiveId on_hold = office.submit(140, held);
  office.at(150, {ReleaseInput{on_hold}});
  office.ends(160, on_hold, LeaseResult::kFinished);
  office.ends(300, lengthy, LeaseResult::kFinished);
  const LiveId unwanted = office.submit(310, era_wants(1, 50));
  office.at(320, {CancelInput{unwanted, "ann"}});
  office.ends(340, next, LeaseResult::kFinished);
}

const KnownJob& job_of(const LivePast& past, LiveId id) { return *past.history.find(id); }

TEST(Era, IsDecidedAgainAsItWas) {
  Office office(kPreempting);
  live_through_it(office);
  const Result<LivePast> past = read_live_past(office.database());
  ASSERT_TRUE(past.ok()) << past.error().message;
  const Era& era = past.value().era;
  EXPECT_FALSE(era.differs) << era.differs->message;
  EXPECT_EQ(era.digest, office.roster().digest());
  EXPECT_EQ(era.decisions, office.decisions);
  EXPECT_EQ(era.leases, office.starts);
  EXPECT_GE(era.leases, 7U);
  EXPECT_GE(era.decisions, era.leases + 2) << "no job was preempted";
}

TEST(Era, GoesOnFromASnapshotTakenInTheMidst) {
  Office office(kPreempting);
  const LiveId lengthy = office.submit(0, era_wants(2, 1000));
  office.ends(5, office.submit(1, era_wants(2, 10)), LeaseResult::kFinished);
  office.begin_era();
  const std::uint64_t before = office.decisions;
  office.ends(30, office.submit(20, era_wants(2, 10)), LeaseResult::kFinished);
  office.ends(90, lengthy, LeaseResult::kFinished);
  const Result<LivePast> past = read_live_past(office.database());
  ASSERT_TRUE(past.ok()) << past.error().message;
  EXPECT_FALSE(past.value().era.differs);
  EXPECT_EQ(past.value().era.digest, office.roster().digest());
  EXPECT_EQ(past.value().era.decisions, office.decisions - before);
  EXPECT_EQ(past.value().era.begin, Instant::at(Duration::seconds(5)));
  EXPECT_EQ(past.value().history.jobs.size(), 3U);
}

TEST(Era, OfAnotherEngineVersionIsRepeated) {
  Office office(kPreempting);
  office.engine = kEngineVersion + 1;
  office.begin_era();
  const std::uint64_t before = office.decisions;
  live_through_it(office);
  const LivePast past = read_live_past(office.database()).value();
  EXPECT_FALSE(past.era.differs) << past.era.differs->message;
  EXPECT_EQ(past.era.digest, office.roster().digest());
  EXPECT_EQ(past.era.decisions, office.decisions - before);
}

TEST(Era, OfAnotherEngineVersionWithoutDecisionsIsNot) {
  Office office(kPreempting);
  office.engine = kEngineVersion + 1;
  office.stores_decisions = false;
  office.begin_era();
  live_through_it(office);
  const LivePast past = read_live_past(office.database()).value();
  ASSERT_TRUE(past.era.differs);
  EXPECT_NE(past.era.differs->message.find("without storing its decisions"), std::string::npos);
}

TEST(Era, TellsTheJobsWithTheirLeases) {
  Office office(kPreempting);
  live_through_it(office);
  const LivePast past = read_live_past(office.home() + "/journal.db").value();
  EXPECT_EQ(past.history.last, Instant::at(Duration::seconds(340)));
  EXPECT_EQ(past.history.unix_us(Instant()), kBorn);
  const KnownJob& lengthy = job_of(past, 1);
  EXPECT_EQ(lengthy.state, LiveState::kDone);
  ASSERT_GE(lengthy.leases.size(), 2U);
  EXPECT_EQ(lengthy.leases[0].fate, LeaseResult::kStopped);
  EXPECT_EQ(lengthy.leases[0].gpus(), 2);
  EXPECT_EQ(lengthy.leases[0].up, Instant());
  EXPECT_EQ(lengthy.leases[0].end, Instant::at(Duration::seconds(100)));
  EXPECT_EQ(lengthy.leases.back().fate, LeaseResult::kFinished);
  const KnownJob& shorter = job_of(past, 2);
  EXPECT_EQ(shorter.user, "bob");
  ASSERT_EQ(shorter.leases.size(), 2U);
  EXPECT_EQ(shorter.leases[0].fate, LeaseResult::kFailed);
  EXPECT_EQ(shorter.leases[0].reason, Reason::kMpiError);
  EXPECT_EQ(job_of(past, 3).eligible, Instant::at(Duration::seconds(300)));
  EXPECT_EQ(job_of(past, 4).eligible, Instant::at(Duration::seconds(150)));
  EXPECT_EQ(job_of(past, 5).state, LiveState::kCancelled);
}

// The first entry that holds this text.
std::uint64_t entry_with(const std::string& database, const std::string& text) {
  std::uint64_t seq = 0;
  JournalReader reader = JournalReader::open(database).value();
  EXPECT_FALSE(reader.for_each_from(1, [&](std::uint64_t number, const JournalEntry& entry) {
    if (seq == 0 && entry.body.find(text) != std::string::npos) seq = number;
  }));
  return seq;
}

TEST(Era, AnEntryThatWasForgedIsNamed) {
  const std::pair<std::string, std::string> forgeries[] = {
      {"\"fate\":\"failed\"", "\"fate\":\"finished\""},
      {"\"reason\":\"mpi-error\"", "\"reason\":\"syntax-error\""}};
  for (const auto& [from, to] : forgeries) {
    Office office(kPreempting);
    live_through_it(office);
    const std::uint64_t seq = entry_with(office.database(), from);
    ASSERT_GT(seq, 0U);
    forge(office.database(), seq, from, to);
    const Result<LivePast> past = read_live_past(office.database());
    ASSERT_TRUE(past.ok()) << past.error().message;
    ASSERT_TRUE(past.value().era.differs) << from;
    const std::string& words = past.value().era.differs->message;
    EXPECT_NE(words.find("entry " + std::to_string(seq) + ":"), std::string::npos) << words;
  }
}

TEST(Era, ADamagedEntryAndATableThatTellsOtherwiseAreNoticed) {
  for (const char* sql :
       {"UPDATE entries SET body = replace(body, 'bob', 'eve') WHERE body LIKE '%bob%'",
        "UPDATE attempts SET nodes = 'here:0' WHERE job = 1 AND number = 1",
        "UPDATE attempts SET state = 'finished' WHERE job = 2 AND number = 1",
        "UPDATE jobs SET state = 'failed' WHERE id = 1",
        "DELETE FROM attempts WHERE job = 1 AND number = 2"}) {
    Office office(kPreempting);
    live_through_it(office);
    hammer(office.database(), sql);
    const Result<LivePast> past = read_live_past(office.database());
    ASSERT_TRUE(past.ok()) << past.error().message;
    ASSERT_TRUE(past.value().era.differs) << sql;
    EXPECT_NE(past.value().era.differs->message.find("entry "), std::string::npos);
  }
}

TEST(Era, JobsThatWereForgottenAreNoDifference) {
  Office office(kPreempting);
  live_through_it(office);
  hammer(office.database(), "DELETE FROM attempts WHERE job = 2; DELETE FROM jobs WHERE id = 2");
  const LivePast past = read_live_past(office.database()).value();
  EXPECT_FALSE(past.era.differs) << past.era.differs->message;
  EXPECT_EQ(past.era.digest, office.roster().digest());
}

TEST(LiveHistory, IsFoundByHomeOrFile) {
  Office office(kPreempting);
  EXPECT_EQ(find_live_database(office.home()).value(), office.database());
  EXPECT_EQ(find_live_database(office.database()).value(), office.database());
  EXPECT_TRUE(names_live_database(office.home()));
  EXPECT_TRUE(names_live_database(office.database()));
  EXPECT_FALSE(names_live_database(testing::TempDir()));
  EXPECT_FALSE(find_live_database(office.home() + "/none").ok());
  EXPECT_FALSE(find_live_database("").ok());
}

TEST(LiveHistory, CanBeCutToWhatCameSince) {
  Office office(kPreempting);
  live_through_it(office);
  LivePast past = read_live_past(office.database()).value();
  keep_since(past.history, kBorn + 120'000'000);
  ASSERT_EQ(past.history.jobs.size(), 3U);
  EXPECT_EQ(past.history.jobs.front().id, 3U);
  ASSERT_GE(past.history.notes.size(), 2U);
  EXPECT_EQ(past.history.notes[past.history.notes.size() - 2], "2 jobs submitted earlier: omitted");
}

}  // namespace
}  // namespace muster
