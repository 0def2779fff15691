#pragma once

// Answers questions about the manager's past: the timeline, the usage, and what another scheduler
// would have done.
//
// Threads: the manager thread calls it, except stop(), which any thread may call. Two workers
// answer: one reads the tables with its own reader, the other simulates.

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "base/types/result.h"
#include "live/query/past_window.h"
#include "live/query/question_worker.h"
#include "live/query/read_context.h"

namespace muster {

struct PastSettings {
  std::string home;    // The state directory.
  Duration retention;  // How long finished jobs are kept.
  // Simulates the past under another scheduler and returns a page as JSON, see api/port/service.h.
  // A worker calls it, one call at a time. It returns soon after `go_on` returns false. Empty: not
  // available.
  std::function<Result<std::string>(const ShowWhatIf&, const std::function<bool()>& go_on)> what_if;
  Duration what_if_time;  // Time limit of a simulation.
};

class PastQueries {
 public:
  PastQueries(const ReadContext& context, PastSettings settings)
      : context_(context), settings_(std::move(settings)) {}

  void timeline(const Caller& caller, const ShowTimeline& call, Done done);
  void usage(const Caller& caller, const ShowUsage& call, Done done);
  void what_if(const Caller& caller, const ShowWhatIf& call, Done done);
  // Ends a simulation early, because the manager stops. Any thread.
  void stop() { stopped_ = true; }

 private:
  template <class Show>
  Result<PastWindow> window_of(const Caller& caller, const Show& call);
  void look_back(const Caller& caller, Result<PastWindow> window,
                 std::function<Result<Answer>(const PastWindow&)> look, const Done& done);

  ReadContext context_;
  PastSettings settings_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> simulates_ = false;
  QuestionWorker past_worker_;  // This and the next are last: their threads use the other members.
  QuestionWorker simulator_;
};

}  // namespace muster
