#pragma once

// Answers questions about one job: its view, output, events and page. job_page.cc has the page.
//
// Threads: the manager thread calls it. The worker finishes a page, from copies.

#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "base/types/result.h"
#include "exec/lease/lease_files.h"
#include "live/query/job_lookup.h"
#include "live/query/question_worker.h"
#include "live/query/read_context.h"
#include "live/views/secrets.h"

namespace muster {

class JobQueries {
 public:
  // `files`: the output and reports of leases. The worker must end before this object does.
  JobQueries(const ReadContext& context, LeaseFiles files, QuestionWorker& worker)
      : context_(context), files_(std::move(files)), worker_(worker) {}

  Result<Answer> show(const Caller& caller, const ShowJob& call) const;
  Result<Answer> find_log(const Caller& caller, const FindLog& call) const;
  Result<Answer> events(const Caller& caller, const ListEvents& call) const;

  // Returns everything about one job. The worker reads the job's files and then calls `done`.
  void page(const Caller& caller, const ShowWholeJob& call, Done done);
  // Computes the page on this thread.
  Result<Answer> page_now(const Caller& caller, const ShowWholeJob& call) const;

 private:
  struct PageDraft;

  Result<nlohmann::json> view_with_leases(const FoundJob& found,
                                          EnvValues env) const;  // Includes its request.
  Result<PageDraft> begin_page(const Caller& caller, const ShowWholeJob& call) const;

  ReadContext context_;
  LeaseFiles files_;
  QuestionWorker& worker_;
};

}  // namespace muster
