#pragma once

// Lists jobs for `muster queue` and the dashboard: active jobs from the roster, finished jobs from
// the tables. Sorts only the requested page of the active jobs, so a short page of ten thousand
// jobs is cheap.
//
// Threads: the manager thread calls it. If finished jobs take long to count, search or sort, the
// worker finishes the list with its own reader.

#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "base/types/result.h"
#include "live/query/ended_counts.h"
#include "live/query/forecast_queries.h"
#include "live/query/question_worker.h"
#include "live/query/read_context.h"
#include "live/store/job_reader.h"

namespace muster {

class JobList {
 public:
  // Only the worker's thread uses `worker_rows`. The worker must end before this object.
  JobList(const ReadContext& context, ForecastQueries& forecasts, QuestionWorker& worker,
          JobReader worker_rows)
      : context_(context),
        forecasts_(forecasts),
        worker_rows_(std::move(worker_rows)),
        worker_(worker) {}

  void list(const Caller& caller, const ListJobs& call, Done done);
  // Lists on this thread, at any cost.
  Result<Answer> list_now(const Caller& caller, const ListJobs& call);

  // Call when a job has finished or finished jobs were deleted.
  void forget_counts() { counts_.forget(); }

 private:
  struct ActiveJobs;
  struct Draft;

  Result<Draft> begin(const Caller& caller, ListJobs call);
  MaybeError add_array(const Caller& caller, Draft& draft);
  ActiveJobs find_active(const Caller& caller, const ListJobs& call);
  nlohmann::json view_now(const JobRow& row) const;
  // Runs on the thread that owns `rows`.
  Result<Answer> finish(Draft& draft, JobReader& rows);
  Result<EndedCounts::StateCounts> count_ended(const Draft& draft, JobReader& rows);

  ReadContext context_;
  ForecastQueries& forecasts_;
  EndedCounts counts_;
  JobReader worker_rows_;
  QuestionWorker& worker_;
};

}  // namespace muster
