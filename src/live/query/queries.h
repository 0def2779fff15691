#pragma once

// The read side of the manager: answers all calls that change nothing.
//
// Threads: the manager thread calls it, except stop(), which any thread may call. A query has two
// halves. The first runs on the manager thread and copies what it needs. The second, if there is
// one, runs on a worker and uses only those copies, its own JobReader, and ForecastBook and
// EndedCounts, which have their own mutexes. Workers are the last members of their owners, so their
// threads end before the data that they use.

#include <functional>
#include <memory>

#include "api/port/service.h"
#include "exec/lease/lease_files.h"
#include "live/query/audit_queries.h"
#include "live/query/cluster_queries.h"
#include "live/query/forecast_queries.h"
#include "live/query/job_list.h"
#include "live/query/job_queries.h"
#include "live/query/past_queries.h"
#include "live/query/question_worker.h"
#include "live/query/read_context.h"
#include "live/store/job_reader.h"

namespace muster {

struct QuerySettings {
  LeaseFiles files;
  PastSettings past;
  std::function<std::shared_ptr<const UseSample>()> use;  // See ClusterQueries.
};

class Queries {
 public:
  // `worker_rows` is a second reader of the same tables.
  Queries(const ReadContext& context, const QuerySettings& settings, JobReader worker_rows);

  // Calls `done` once, here or later on a worker; never if the manager ends before.
  void answer(const Caller& caller, const Call& call, Done done);
  // Answers while the journal cannot be written: without workers and forecasts.
  Answer answer_now(const Caller& caller, const Call& call);

  // Called after the reads of each turn. Evaluates forecasts and renews predicted starts.
  void after_turn() { forecasts_.after_turn(); }
  // Call when a job has finished or finished jobs were deleted.
  void forget_counts() { list_.forget_counts(); }
  // Ends long simulations, because the manager stops. Any thread.
  void stop() { past_.stop(); }

 private:
  struct Now;
  struct Later;

  ClusterQueries cluster_;
  ForecastQueries forecasts_;
  PastQueries past_;
  AuditQueries audit_;
  JobQueries jobs_;
  JobList list_;
  QuestionWorker lookups_;  // Last: its thread uses jobs_ and list_.
};

}  // namespace muster
