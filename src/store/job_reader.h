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

#include "base/result.h"
#include "base/time.h"
#include "store/rows.h"
#include "store/sqlite.h"

namespace muster {

struct JobFilter {  // All that are given must hold.
  std::optional<std::string> state;
  std::optional<std::string> user;
  std::optional<std::string> tenant;
  bool over = false;  // Only jobs that are.
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
  Result<std::vector<JobRow>> jobs(const JobFilter& filter);  // Newest first.
  Result<std::uint64_t> count(const JobFilter& filter);       // Whatever its limit and offset.
  Result<std::vector<AttemptRow>> attempts(std::uint64_t job);
  Result<std::vector<EventRow>> events(const EventFilter& filter);  // Oldest first.
  // Jobs that were over at this instant or later, in order of their ends.
  Refusal for_each_ended_since(Instant since, const std::function<void(const JobRow&)>& visit);

 private:
  explicit JobReader(Database database) : database_(std::move(database)) {}
  Refusal prepare();
  Result<std::vector<JobRow>> collect(Statement& query);
  // Begins the query for what the filter wants, or for how many that are.
  Result<Statement*> query(const JobFilter& filter, bool counts);

  Database database_;
  Statement by_id_;
  Statement by_prefix_;
  Statement attempts_of_;
  Statement ended_since_;
  Statement events_of_job_;
  Statement events_of_all_;
  std::map<unsigned, Statement> lists_;  // By which parts of a filter are given, and what for.
};

}  // namespace muster
