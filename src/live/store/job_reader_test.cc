#include "live/store/job_reader.h"

#include <algorithm>

#include "base/types/random.h"
#include "live/store/testing.h"

namespace muster {
namespace {

std::vector<std::uint64_t> ids(const Result<std::vector<JobRow>>& rows) {
  EXPECT_TRUE(rows.ok()) << rows.error().message;
  std::vector<std::uint64_t> found;
  for (const JobRow& row : rows.value()) found.push_back(row.id);
  return found;
}

using Ids = std::vector<std::uint64_t>;

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(JobReader, GivesARowBackAsItWasPutLast) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  JobRow job = job_row(journal.next_id());
  ASSERT_FALSE(journal.put(job));
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();
  EXPECT_EQ(history.job(1).value(), job);
  EXPECT_EQ(history.job(2).value(), std::nullopt);

  job.state = "finished";
  job.started = Instant::micros(20);
  job.ended = Instant::micros(30);
  job.attempts = 2;
  job.exit = "exit 0";
  ASSERT_FALSE(journal.put(job));
  EXPECT_NE(history.job(1).value(), job) << "shown before it was durable";
  ASSERT_FALSE(journal.commit());
  EXPECT_EQ(history.job(1).value(), job);
}

TEST(JobReader, KeepsAttemptsByJobAndNumber) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  journal.next_id();
  journal.next_id();
  const AttemptRow second{1, 2, "failed", "a,b", Instant::micros(5), Instant::micros(6), "exit 1"};
  const AttemptRow first{1, 1, "preempted", "a", Instant::micros(1), Instant::micros(2), ""};
  const AttemptRow other{2, 1, "running", "c", Instant::micros(7), std::nullopt, ""};
  for (const AttemptRow& row : {second, first, other}) ASSERT_FALSE(journal.put(row));
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();
  EXPECT_EQ(history.attempts(1).value(), (std::vector<AttemptRow>{first, second}));
  EXPECT_EQ(history.attempts(2).value(), (std::vector<AttemptRow>{other}));
  EXPECT_TRUE(history.attempts(3).value().empty());
}

TEST(JobReader, PrefixesAreBytesNotPatterns) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  const std::vector<std::string> keys = {"a%b",
                                         "a_b",
                                         "axb",
                                         "a'b",
                                         "a\"b",
                                         "A%b",
                                         "",
                                         "\xff",
                                         "\xff\xff"
                                         "z",
                                         "a",
                                         "%",
                                         "30"};
  for (const std::string& key : keys) {
    JobRow job = job_row(journal.next_id());
    job.key = key;
    ASSERT_FALSE(journal.put(job));
  }
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();
  std::vector<std::string> prefixes = keys;
  prefixes.insert(prefixes.end(), {"a%", "a_", "a'", "a\"", "b", "1", "12", "3", "_", "' OR 1=1",
                                   "\\", "*", "a'b' --"});
  for (const std::string& prefix : prefixes) {
    Ids expected;  // One by one, newest first.
    for (std::uint64_t id = keys.size(); id >= 1; --id) {
      if (keys[id - 1].starts_with(prefix) || std::to_string(id).starts_with(prefix)) {
        expected.push_back(id);
      }
    }
    EXPECT_EQ(ids(history.jobs_beginning(prefix, 100)), expected) << prefix;
    expected.resize(std::min<std::size_t>(expected.size(), 2));
    EXPECT_EQ(ids(history.jobs_beginning(prefix, 2)), expected) << prefix;
  }
}

// Compares random rows, which are replaced as jobs proceed, with a plain list.
TEST(JobReader, ListsWhatAPlainListWould) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  Random random(7);
  const std::vector<std::string> states = {"queued", "running", "finished"};
  const std::vector<std::string> users = {"ann", "bob", "eve'; --"};
  std::vector<JobRow> rows;
  for (int round = 0; round < 400; ++round) {
    if (rows.empty() || random.below(2) == 0) {
      rows.push_back(job_row(journal.next_id()));
      ASSERT_FALSE(journal.put(rows.back()));
    }
    JobRow& row = rows[random.below(rows.size())];
    row.state = states[random.below(states.size())];
    row.user = users[random.below(users.size())];
    row.tenant = random.below(2) == 0 ? "vision" : "speech";
    row.ended.reset();
    if (row.state == "finished") {
      row.ended = Instant::micros(static_cast<std::int64_t>(random.below(50)));
    }
    ASSERT_FALSE(journal.put(row));
    if (random.below(20) == 0) {
      ASSERT_FALSE(journal.commit());
    }
  }
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();

  for (int round = 0; round < 200; ++round) {
    JobFilter filter;
    for (const std::string& state : states) {
      if (random.below(2) == 0) filter.states.push_back(state);
    }
    if (random.below(2) == 0) filter.user = users[random.below(users.size())];
    if (random.below(2) == 0) filter.tenant = "vision";
    filter.limit = random.below(20);
    filter.offset = random.below(20);
    Ids expected;
    for (std::size_t i = rows.size(); i-- > 0;) {
      if (!filter.states.empty() && !has(filter.states, rows[i].state)) continue;
      if (filter.user.value_or(rows[i].user) != rows[i].user) continue;
      if (filter.tenant.value_or(rows[i].tenant) != rows[i].tenant) continue;
      expected.push_back(rows[i].id);
    }
    EXPECT_EQ(history.count(filter).value(), expected.size());
    expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                            filter.offset, expected.size())));
    expected.resize(std::min(filter.limit, expected.size()));
    EXPECT_EQ(ids(history.jobs(filter)), expected);
  }

  std::vector<JobRow> ended = rows;
  std::erase_if(ended, [](const JobRow& row) { return !row.ended || row.ended->us() < 20; });
  std::stable_sort(ended.begin(), ended.end(),
                   [](const JobRow& a, const JobRow& b) { return a.ended < b.ended; });
  std::vector<JobRow> found;
  ASSERT_FALSE(history.for_each_ended_since(Instant::micros(20),
                                            [&](const JobRow& row) { found.push_back(row); }));
  EXPECT_EQ(found, ended);
}

// Jobs 1 to 5, as a list that is searched and ordered sees them.
class SearchedJobs : public testing::Test {
 protected:
  SearchedJobs() {
    Journal journal = Journal::open(scratch_ / "j.db").value();
    const char* names[] = {"ResNet", "bert_50%", "bert-50x", "a\\b", "vgg"};
    for (int i = 0; i < 5; ++i) {
      JobRow row = job_row(journal.next_id());
      row.name = names[i];
      row.user = i == 3 ? "Bob" : "ann";
      row.tenant = i == 4 ? "vision" : "";
      row.state = i < 3 ? "done" : "failed";
      row.key = i == 2 ? "70_3" : "";
      row.spec = R"({"request":{"gpus":)" + std::to_string(10 - i) + R"(},"ran_s":)" +
                 std::to_string(i % 3) + "}";
      if (i != 1) row.started = Instant::micros(10 + i);
      row.ended = Instant::micros(100 + i);
      EXPECT_FALSE(journal.put(row));
    }
    EXPECT_FALSE(journal.commit());
    reader_.emplace(JobReader::open(scratch_ / "j.db").value());
  }
  Ids found(const std::string& search) {
    JobFilter filter;
    filter.search = search;
    const Ids list = ids(reader_->jobs(filter));
    EXPECT_EQ(reader_->count(filter).value(), list.size());
    return list;
  }
  Ids ordered(JobOrder order, bool ascending) {
    JobFilter filter;
    filter.order = order;
    filter.ascending = ascending;
    return ids(reader_->jobs(filter));
  }

  const Scratch scratch_;
  std::optional<JobReader> reader_;
};

TEST_F(SearchedJobs, AreFoundByTextsNotPatterns) {
  EXPECT_EQ(found("resnet"), Ids{1});
  EXPECT_EQ(found("ERT"), (Ids{3, 2}));
  EXPECT_EQ(found("50%"), Ids{2});
  EXPECT_EQ(found("t_5"), Ids{2});
  EXPECT_EQ(found("\\"), Ids{4});
  EXPECT_EQ(found("bob"), Ids{4});
  EXPECT_EQ(found("visio"), Ids{5});
  EXPECT_EQ(found("70_"), Ids{3});
  EXPECT_EQ(found("0_3"), Ids{});  // Ids match only by prefix.
  EXPECT_EQ(found("5"), (Ids{5, 3, 2}));
  EXPECT_EQ(found("'; --"), Ids{});
}

TEST_F(SearchedJobs, ComeInOrder) {
  EXPECT_EQ(ordered(JobOrder::kId, true), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(ordered(JobOrder::kName, true), (Ids{4, 3, 2, 1, 5}));
  EXPECT_EQ(ordered(JobOrder::kUser, false), (Ids{4, 5, 3, 2, 1}));
  EXPECT_EQ(ordered(JobOrder::kGpus, true), (Ids{5, 4, 3, 2, 1}));
  EXPECT_EQ(ordered(JobOrder::kRan, false), (Ids{3, 5, 2, 4, 1}));
  EXPECT_EQ(ordered(JobOrder::kStarted, true), (Ids{1, 3, 4, 5, 2}));
  EXPECT_EQ(ordered(JobOrder::kStarted, false), (Ids{5, 4, 3, 1, 2}));
  EXPECT_EQ(ordered(JobOrder::kState, true), (Ids{1, 2, 3, 4, 5}));
}

TEST_F(SearchedJobs, AreCountedByState) {
  using Counts = std::map<std::string, std::uint64_t>;
  JobFilter filter;
  filter.states = {"done"};  // Ignored.
  EXPECT_EQ(reader_->count_by_state(filter).value(), (Counts{{"done", 3}, {"failed", 2}}));
  filter.search = "b";
  EXPECT_EQ(reader_->count_by_state(filter).value(), (Counts{{"done", 2}, {"failed", 1}}));
  filter.user = "ann";
  EXPECT_EQ(reader_->count_by_state(filter).value(), (Counts{{"done", 2}}));
}

// A list that runs in parallel to the manager must not count jobs twice that end meanwhile.
TEST_F(SearchedJobs, AreThoseThatWereOverByThen) {
  JobFilter filter;
  const auto counted = [&] {
    std::size_t sum = 0;
    const auto counts = reader_->count_by_state(filter).value();
    for (const auto& [state, count] : counts) sum += count;
    return sum;
  };
  const auto check = [&](const std::string& what) {
    SCOPED_TRACE(what);
    for (int i = 0; i < 7; ++i) {
      filter.over_by.reset();
      Ids expected = ids(reader_->jobs(filter));
      std::erase_if(expected, [&](std::uint64_t id) { return id > static_cast<unsigned>(i); });
      filter.over_by = Instant::micros(99 + i);
      EXPECT_EQ(ids(reader_->jobs(filter)), expected) << i;
      EXPECT_EQ(reader_->count(filter).value(), expected.size()) << i;
      EXPECT_EQ(counted(), expected.size()) << i;
    }
  };
  check("all");
  filter.over = true;
  check("over");
  filter.user = "ann";
  check("of a user");
  filter.tenant = "";
  check("of a user and a tenant");
  filter.user.reset();
  check("of a tenant");
  filter.search = "b";
  check("searched");
}

TEST(JobReader, ForgetsTheOldestEndsFirstInSmallBatches) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  const std::vector<int> ends = {50, 10, 0, 30, 20, 40};  // Ends of jobs 1 to 6; 0: still running.
  for (const int end : ends) {
    JobRow job = job_row(journal.next_id());
    if (end > 0) job.ended = Instant::micros(end);
    ASSERT_FALSE(journal.put(job));
    ASSERT_FALSE(journal.put(AttemptRow{job.id, 1, "", "", std::nullopt, std::nullopt, ""}));
    ASSERT_FALSE(journal.keep_key("ann", std::to_string(end), job.id));
  }
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();

  EXPECT_EQ(journal.forget_ended_before(Instant::micros(40), 2).value(), 2U);
  EXPECT_EQ(ids(history.jobs({})), (Ids{6, 4, 3, 1}));
  EXPECT_TRUE(history.attempts(5).value().empty());
  EXPECT_EQ(history.attempts(4).value().size(), 1U);
  EXPECT_EQ(journal.job_of_key("ann", "20").value(), std::nullopt);
  EXPECT_EQ(journal.job_of_key("ann", "30").value(), 4U);

  EXPECT_EQ(journal.forget_ended_before(Instant::micros(40), 2).value(), 1U);
  EXPECT_EQ(journal.forget_ended_before(Instant::micros(40), 2).value(), 0U);
  EXPECT_EQ(ids(history.jobs({})), (Ids{6, 3, 1}));
}

std::vector<std::uint64_t> numbers(JobReader& reader, const EventFilter& filter) {
  std::vector<std::uint64_t> found;
  const Result<std::vector<EventRow>> rows = reader.events(filter);
  EXPECT_TRUE(rows.ok());
  for (const EventRow& row : rows.value()) found.push_back(row.number);
  return found;
}

TEST(JobReader, TellsEventsInOrderAfterANumberToWhomTheyConcern) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(journal.put(job_row(journal.next_id())));
  ASSERT_FALSE(journal.put(EventRow{1, 1, "ann", "{}", ""}));
  ASSERT_FALSE(journal.put(EventRow{2, 2, "bob", "{}", R"({"of":1})"}));
  ASSERT_FALSE(journal.put(EventRow{3, 0, "", "{}", ""}));
  ASSERT_FALSE(journal.put(EventRow{7, 1, "ann", "{}", ""}));
  JobReader reader = JobReader::open(scratch / "j.db").value();
  EXPECT_TRUE(numbers(reader, {}).empty()) << "not committed";
  ASSERT_FALSE(journal.commit());
  EXPECT_EQ(numbers(reader, {}), (Ids{1, 2, 3, 7}));
  EXPECT_EQ(numbers(reader, {2, 0, std::nullopt, 1}), (Ids{3}));
  EXPECT_EQ(numbers(reader, {0, 1, std::nullopt, 9}), (Ids{1, 7}));
  EXPECT_EQ(numbers(reader, {1, 1, std::nullopt, 9}), (Ids{7}));
  EXPECT_EQ(numbers(reader, {0, 0, "bob", 9}), (Ids{2, 3}));
  EXPECT_TRUE(numbers(reader, {0, 1, "bob", 9}).empty());
  EXPECT_EQ(reader.events({1, 2, std::nullopt, 9}).value().at(0).full, R"({"of":1})");
  EXPECT_EQ(journal.last_event(), 7U);
}

TEST(JobReader, KeepsTheFirstAndTheLastEventsOfAJobUntilItIsForgotten) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  JobRow job = job_row(journal.next_id());
  job.ended = Instant::micros(10);
  ASSERT_FALSE(journal.put(job));
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < kMaxEventsOfAJob + 30; ++i) {
    ASSERT_FALSE(journal.put(EventRow{++number, 1, "ann", "{}", ""}));
    if (i % 7 == 0) {
      ASSERT_FALSE(journal.commit());
    }
  }
  for (std::uint64_t i = 0; i < kMaxEventsOfNoJob + 30; ++i) {
    ASSERT_FALSE(journal.put(EventRow{++number, 0, "", "{}", ""}));
  }
  ASSERT_FALSE(journal.commit());
  JobReader reader = JobReader::open(scratch / "j.db").value();
  const auto told = numbers(reader, {0, 1, std::nullopt, 999});
  ASSERT_EQ(told.size(), kMaxEventsOfAJob);
  EXPECT_EQ(told[kFirstEventsOfAJob - 1], kFirstEventsOfAJob);
  EXPECT_EQ(told[kFirstEventsOfAJob], kFirstEventsOfAJob + 31);
  EXPECT_EQ(told.back(), kMaxEventsOfAJob + 30);
  EXPECT_EQ(numbers(reader, {0, 0, std::nullopt, 99'999}).size(),
            kMaxEventsOfAJob + kMaxEventsOfNoJob);
  ASSERT_EQ(journal.forget_ended_before(Instant::micros(11), 9).value(), 1U);
  EXPECT_TRUE(numbers(reader, {0, 1, std::nullopt, 999}).empty());
}

TEST(JobReader, KeepsFewEventsOfNewJobsInOneTransaction) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(journal.put(job_row(journal.next_id())));
  for (std::uint64_t i = 0; i < kMaxEventsOfAJob + 30; ++i) {
    for (const std::uint64_t job : {1U, 2U}) {
      ASSERT_FALSE(journal.put(EventRow{2 * i + job, job, "ann", "{}", ""}));
    }
  }
  ASSERT_FALSE(journal.commit());
  JobReader reader = JobReader::open(scratch / "j.db").value();
  for (const std::uint64_t job : {1U, 2U}) {
    EXPECT_EQ(numbers(reader, {0, job, std::nullopt, 999}).size(), kMaxEventsOfAJob);
  }
}

TEST(JobReader, RefusesWhatIsNoJournal) {
  const Scratch scratch;
  EXPECT_FALSE(JobReader::open(scratch / "none.db").ok());
  write_bytes(scratch / "text.db", "A text that is long enough to look like some kind of file.\n");
  const Result<JobReader> text = JobReader::open(scratch / "text.db");
  ASSERT_FALSE(text.ok());
  expect_refused(text.error(), "text.db: cannot read: file is not a database");
}

}  // namespace
}  // namespace muster
