#pragma once

// Lists jobs, as `muster queue` and the dashboard show them: active jobs from the roster, finished
// ones from the tables. Only the requested page of the active jobs is put in order, so the first
// few of ten thousand cost little.
//
// Threads: the manager thread calls it. If finished jobs take long to count, search or sort, the
// worker finishes the list with its own reader.

#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "base/types/result.h"
#include "live/query/ended_counts.h"
#include "live/query/forecast_queries.h"
#include "live/query/forecaster.h"
#include "live/query/read_context.h"
#include "live/store/job_reader.h"

namespace muster {

class JobList {
 public:
  // `worker_rows` belongs to the worker's thread alone. The worker must end before this object.
  JobList(const ReadContext& context, ForecastQueries& forecasts, Forecaster& worker,
          JobReader worker_rows)
      : context_(context),
        forecasts_(forecasts),
        worker_rows_(std::move(worker_rows)),
        worker_(worker) {}

  void list(const Caller& caller, const ListJobs& call, Done done);
  // The same on this thread, of any cost.
  Result<Answer> list_now(const Caller& caller, const ListJobs& call);

  // A job has finished, or finished jobs were deleted.
  void forget_counts() { counts_.forget(); }

 private:
  struct ActiveJobs;
  struct Draft;

  Result<Draft> begin(const Caller& caller, ListJobs call);
  Refusal add_array(Draft& draft);
  ActiveJobs find_active(const ListJobs& call);
  nlohmann::json view_now(const JobRow& row) const;
  // On the thread that `rows` belongs to.
  Result<Answer> finish(Draft& draft, JobReader& rows);
  Result<EndedCounts::StateCounts> count_ended(const Draft& draft, JobReader& rows);

  ReadContext context_;
  ForecastQueries& forecasts_;
  EndedCounts counts_;
  JobReader worker_rows_;
  Forecaster& worker_;
};

}  // namespace muster
