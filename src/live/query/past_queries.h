#pragma once

// Answers questions about the manager's past: timeline, usage, and what another scheduler would
// have done.
//
// Threads: the manager thread calls it, except stop(), which any thread may call. Two workers
// answer: one reads the tables with its own reader, one simulates.

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "base/types/result.h"
#include "live/query/forecaster.h"
#include "live/query/look_back.h"
#include "live/query/read_context.h"

namespace muster {

struct PastSettings {
  std::string home;    // The state directory.
  Duration retention;  // How long finished jobs are kept.
  // Simulates the past under another scheduler and returns a page as JSON, see api/port/service.h.
  // Called on a worker, one call at a time; returns soon when `go_on` returns false. Empty: not
  // available.
  std::function<Result<std::string>(const ShowWhatIf&, const std::function<bool()>& go_on)> what_if;
  Duration what_if_time;  // After which it is stopped.
};

class PastQueries {
 public:
  PastQueries(const ReadContext& context, PastSettings settings)
      : context_(context), settings_(std::move(settings)) {}

  void timeline(const Caller& caller, const ShowTimeline& call, Done done);
  void usage(const Caller& caller, const ShowUsage& call, Done done);
  void what_if(const Caller& caller, const ShowWhatIf& call, Done done);
  // Ends a simulation early, because the manager ends.
  void stop() { stopped_ = true; }

 private:
  template <class Show>
  Result<LookBack> window_of(const Caller& caller, const Show& call);
  void look_back(const Caller& caller, Result<LookBack> window,
                 std::function<Result<Answer>(const LookBack&)> look, const Done& done);

  ReadContext context_;
  PastSettings settings_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> simulates_ = false;
  Forecaster historian_;  // Last, as the next: their threads use the rest.
  Forecaster simulator_;
};

}  // namespace muster
