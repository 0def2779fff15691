#pragma once

// Reads the journal's tables of jobs, attempts and events, for the API, the command line and
// estimates. Each reader has its own connection, so any thread and any process may open one while
// the daemon writes. It sees only committed, and so durable, data.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "live/store/rows.h"
#include "live/store/sqlite.h"

namespace muster {

// Sort key of a list. Jobs without a value sort last in both directions; ties sort by id.
enum class JobOrder : std::uint8_t {
  kId,
  kName,
  kUser,
  kTenant,
  kState,
  kGpus,
  kPriority,
  kSubmitted,
  kStarted,
  kEnded,
  kRan,
};

// The jobs that a caller may see: their own, and those of some tenants. A job belongs to `user` if
// it has this user name, and this uid or none.
struct SeenBy {
  std::string user;
  std::uint32_t uid = 0;
  std::vector<std::string> tenants;  // As in the rows: "" is the default tenant.
};

struct JobFilter {                  // A job must match all given fields.
  std::vector<std::string> states;  // Accepted states; empty: any state.
  std::optional<std::string> user;
  std::optional<std::string> tenant;
  std::optional<SeenBy> seen_by;
  bool over = false;  // Only finished jobs.
  // Excludes jobs that finished after this time.
  std::optional<Instant> over_by;
  // Substring of the name, user or tenant, or prefix of the id or key. ASCII letters match in any
  // case, and there are no wildcards. Empty: any job.
  std::string search;
  JobOrder order = JobOrder::kId;
  bool ascending = false;
  std::size_t limit = 50;
  std::size_t offset = 0;
};

struct EventFilter {
  std::uint64_t after = 0;          // Only events with greater numbers.
  std::uint64_t job = 0;            // 0: all jobs.
  std::optional<std::string> user;  // Only events of this user's jobs and events without a job.
  std::size_t limit = 1000;
  // The same as `user`, for the jobs that a caller may see. Not with `job`.
  std::optional<SeenBy> seen_by = {};
};

class JobReader {
 public:
  // `path`: the file of a Journal. Open the Journal first, because it migrates the file.
  static Result<JobReader> open(const std::string& path);

  Result<std::optional<JobRow>> job(std::uint64_t id);
  // Returns jobs whose decimal id or whose key starts with `prefix`, newest first.
  Result<std::vector<JobRow>> jobs_beginning(std::string_view prefix, std::size_t limit);
  Result<std::vector<JobRow>> jobs(const JobFilter& filter);  // In filter.order.
  Result<std::uint64_t> count(const JobFilter& filter);       // Ignores limit and offset.
  // Counts by state and ignores filter.states. Omits states without jobs.
  Result<std::map<std::string, std::uint64_t>> count_by_state(const JobFilter& filter);
  Result<std::vector<AttemptRow>> attempts(std::uint64_t job);
  Result<std::vector<EventRow>> events(const EventFilter& filter);  // Oldest first.
  // Returns events without a job, newest first.
  Result<std::vector<EventRow>> latest_of_no_job(std::size_t limit);
  // Visits jobs that finished at `since` or later, in order of their end.
  MaybeError for_each_ended_since(Instant since, const std::function<void(const JobRow&)>& visit);
  // Call before queries of many rows: caches up to 64 MiB of the file, so that no page is read
  // twice.
  MaybeError expect_many();
  // From the next query on, this reader sees one fixed state, so that several queries agree. Close
  // the reader soon, because the journal's file grows meanwhile.
  MaybeError hold_still();
  // Visits attempts that ran in [from, to): first the running ones, then at most `limit` ended
  // ones, latest end first.
  MaybeError for_each_lease_in(Instant from, Instant to, std::size_t limit,
                               const std::function<void(AttemptSpan&&)>& visit);
  // Visits jobs that were submitted before `to` and not finished at `from`.
  MaybeError for_each_job_in(Instant from, Instant to, const std::function<void(JobSpan&&)>& visit);
  // Returns the JSON of the event of the job's first lease, which has its wait causes; empty if
  // there is no such event.
  Result<std::string> first_start(std::uint64_t job);

 private:
  explicit JobReader(Database database) : database_(std::move(database)) {}
  MaybeError prepare();
  Result<std::vector<JobRow>> collect(Statement& query);
  Result<std::vector<EventRow>> collect_events(Statement& query);
  // Starts the query of the filter's rows or of their number.
  enum class Yield : std::uint8_t { kRows, kCount, kCountByState };
  struct Bound {  // Texts that must live until the query has been read.
    std::optional<std::string> states, part, prefix, viewer, tenants;
  };
  Result<Statement*> query(const JobFilter& filter, Yield yield, Bound& bound);
  static void bind(const JobFilter& filter, Yield yield, Statement& query, Bound& bound);

  Database database_;
  Statement by_id_;
  Statement by_prefix_;
  Statement attempts_of_;
  Statement ended_since_;
  Statement events_of_job_;
  Statement events_of_all_;
  Statement events_seen_;
  Statement leases_now_;
  Statement leases_then_;
  Statement jobs_in_;
  Statement events_of_none_;
  Statement first_start_;
  std::map<unsigned, Statement> lists_;  // By the set of given filter fields and the Yield.
};

}  // namespace muster
