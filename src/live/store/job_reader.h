#pragma once

// The journal's tables for people, read only: what the API and the command line show, and what
// estimates are made from. Each has its own connection, so any thread may open one beside the
// daemon's writer, and so may another program. Sees what is committed, hence what is durable.

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

// By what a list is ordered. Who lacks it comes last either way; equals go by id.
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

struct JobFilter {                  // All that are given must hold.
  std::vector<std::string> states;  // One of these; empty: whichever.
  std::optional<std::string> user;
  std::optional<std::string> tenant;
  bool over = false;  // Only jobs that are.
  // Whoever was over later than this is left out; none: nobody is.
  std::optional<Instant> over_by;
  // What is part of the name, user or tenant, or begins the id or key. ASCII letters are alike
  // whether large or small, and no sign stands for others. Empty: whatever.
  std::string search;
  JobOrder order = JobOrder::kId;
  bool ascending = false;
  std::size_t limit = 50;
  std::size_t offset = 0;
};

struct EventFilter {
  std::uint64_t after = 0;          // Only with greater numbers.
  std::uint64_t job = 0;            // 0: of all.
  std::optional<std::string> user;  // Only of this one's jobs, and what is about no job.
  std::size_t limit = 1000;
};

class JobReader {
 public:
  // The file of a Journal, which brings it to today's version first.
  static Result<JobReader> open(const std::string& path);

  Result<std::optional<JobRow>> job(std::uint64_t id);
  // Jobs whose id, written out, or whose key begins so, byte for byte; newest first.
  Result<std::vector<JobRow>> jobs_beginning(std::string_view prefix, std::size_t limit);
  Result<std::vector<JobRow>> jobs(const JobFilter& filter);  // In its order: newest first.
  Result<std::uint64_t> count(const JobFilter& filter);       // Whatever its limit and offset.
  // The same by state, whatever its states; of those that there are.
  Result<std::map<std::string, std::uint64_t>> count_by_state(const JobFilter& filter);
  Result<std::vector<AttemptRow>> attempts(std::uint64_t job);
  Result<std::vector<EventRow>> events(const EventFilter& filter);  // Oldest first.
  // What is about no job, newest first.
  Result<std::vector<EventRow>> latest_of_no_job(std::size_t limit);
  // Jobs that were over at this instant or later, in order of their ends.
  Refusal for_each_ended_since(Instant since, const std::function<void(const JobRow&)>& visit);
  // For a look at many rows: up to 64 MiB of the file are kept at hand, so that no page of it is
  // fetched twice.
  Refusal expect_many();
  // From its next look on it sees the tables as they are then, whatever is committed later: for
  // looks that have to agree. For readers that are soon closed, since the journal's file grows
  // meanwhile.
  Refusal hold_still();
  // Attempts that ran at some time from `from` on and before `to`: those that are not over, then
  // the others, the last to end first; no more than `limit` of these.
  Refusal for_each_lease_in(Instant from, Instant to, std::size_t limit,
                            const std::function<void(AttemptSpan&&)>& visit);
  // Jobs that were submitted before `to` and not over at `from`.
  Refusal for_each_job_in(Instant from, Instant to, const std::function<void(JobSpan&&)>& visit);
  // The event that told of the job's first lease and what it had waited for: its JSON; empty if
  // nobody told.
  Result<std::string> first_start(std::uint64_t job);

 private:
  explicit JobReader(Database database) : database_(std::move(database)) {}
  Refusal prepare();
  Result<std::vector<JobRow>> collect(Statement& query);
  Result<std::vector<EventRow>> collect_events(Statement& query);
  // Begins the query for what the filter wants, or for how many that are.
  enum class Yield : std::uint8_t { kRows, kCount, kCountByState };
  struct Bound {  // Texts that a query needs until it has been read.
    std::optional<std::string> states, part, prefix;
  };
  Result<Statement*> query(const JobFilter& filter, Yield yield, Bound& bound);

  Database database_;
  Statement by_id_;
  Statement by_prefix_;
  Statement attempts_of_;
  Statement ended_since_;
  Statement events_of_job_;
  Statement events_of_all_;
  Statement leases_now_;
  Statement leases_then_;
  Statement jobs_in_;
  Statement events_of_none_;
  Statement first_start_;
  std::map<unsigned, Statement> lists_;  // By which parts of a filter are given, and what for.
};

}  // namespace muster
