// The JobReader functions for queries about the past.

#include "live/store/job_reader.h"
#include "live/store/testing.h"

namespace muster {
namespace {

using JobIds = std::vector<std::uint64_t>;

TEST(JobReaderPast, FindsWhatRanInAWindow) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  const auto at = [](int us) { return Instant::micros(us); };
  const auto put = [&](std::optional<int> started, std::optional<int> ended) {
    JobRow job = job_row(journal.next_id());
    job.submitted = at(5);
    job.state = ended ? "done" : "running";
    if (started) job.started = at(*started);
    if (ended) job.ended = at(*ended);
    ASSERT_FALSE(journal.put(job));
    ASSERT_FALSE(journal.put(AttemptRow{job.id, 1, job.state, "a:0", job.started, job.ended, ""}));
  };
  put(10, 20);
  put(10, 31);
  put(30, 40);
  put(35, {});
  put({}, {});  // Still being started.
  put(60, 70);
  put({}, 33);  // Finished without having run.
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();
  const auto leases = [&](int from, int to, std::size_t limit) {
    JobIds found;
    EXPECT_FALSE(history.for_each_lease_in(at(from), at(to), limit, [&](AttemptSpan&& lease) {
      EXPECT_EQ(lease.nodes, "a:0");
      EXPECT_EQ(lease.user, job_row(1).user);
      found.push_back(lease.job);
    }));
    return found;
  };
  EXPECT_EQ(leases(30, 50, 10), (JobIds{4, 3, 2}));
  EXPECT_EQ(leases(30, 50, 1), (JobIds{4, 3})) << "the limit applies to ended leases";
  EXPECT_EQ(leases(0, 30, 10), (JobIds{2, 1}));
  EXPECT_EQ(leases(70, 80, 10), (JobIds{4}));
  std::size_t jobs = 0;
  ASSERT_FALSE(history.for_each_job_in(at(32), at(50), [&](JobSpan&& job) {
    EXPECT_EQ(job.submitted, at(5));
    ++jobs;
  }));
  EXPECT_EQ(jobs, 5u);
  ASSERT_FALSE(history.for_each_job_in(at(0), at(5), [&](JobSpan&&) { FAIL(); }));
}

// A lease that ends while its row is read does not appear again among the ended leases.
TEST(JobReaderPast, HeldStillSeesOneInstant) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  JobRow job = job_row(journal.next_id());
  AttemptRow lease{job.id, 1, "running", "a:0", Instant::micros(10), std::nullopt, ""};
  ASSERT_FALSE(journal.put(job));
  ASSERT_FALSE(journal.put(lease));
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();
  ASSERT_FALSE(history.hold_still());
  int found = 0;
  const auto look = [&](AttemptSpan&& seen) {
    ++found;
    EXPECT_FALSE(seen.ended);
    lease.state = "finished";
    lease.ended = Instant::micros(20);
    EXPECT_FALSE(journal.put(lease));
    EXPECT_FALSE(journal.commit());
  };
  ASSERT_FALSE(history.for_each_lease_in(Instant(), Instant::micros(50), 10, look));
  EXPECT_EQ(found, 1);
}

TEST(JobReaderPast, FindsWhatAJobFirstWaitedFor) {
  const Scratch scratch;
  Journal journal = Journal::open(scratch / "j.db").value();
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(journal.put(job_row(journal.next_id())));
  const std::string first = R"({"facts":{"waited_for_s":{"order":5}}})";
  const std::vector<std::string> told = {R"({"kind":"submitted"})", first,
                                         R"({"facts":{"waited_for_s":{"order":7}}})"};
  for (std::size_t i = 0; i < told.size(); ++i) {
    ASSERT_FALSE(journal.put(EventRow{i + 1, 2, "ann", told[i], ""}));
  }
  ASSERT_FALSE(journal.commit());
  JobReader history = JobReader::open(scratch / "j.db").value();
  ASSERT_FALSE(history.expect_many());
  EXPECT_EQ(history.first_start(2).value(), first);
  EXPECT_EQ(history.first_start(1).value(), "");
}

// Rows outside the window are never read.
TEST(JobReaderPast, FindsLeasesByTheirEnds) {
  const Scratch scratch;
  { ASSERT_TRUE(Journal::open(scratch / "j.db").ok()); }
  std::string plan;
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((scratch / "j.db").c_str(), &handle), SQLITE_OK);
  for (const char* condition : {"ended IS NULL", "ended > 5 ORDER BY ended DESC"}) {
    sqlite3_exec(
        handle,
        (std::string("EXPLAIN QUERY PLAN SELECT * FROM attempts WHERE +started < 9 AND ") +
         condition)
            .c_str(),
        [](void* out, int, char** row, char**) {
          *static_cast<std::string*>(out) += row[3];
          return 0;
        },
        &plan, nullptr);
    EXPECT_NE(plan.find("USING INDEX attempts_by_end"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("B-TREE"), std::string::npos) << plan;
    plan.clear();
  }
  sqlite3_close(handle);
}

}  // namespace
}  // namespace muster
