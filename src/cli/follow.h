#pragma once

// Following what happens to jobs: over broken connections and restarts of the manager, until
// Ctrl-C. Shared by the verbs that wait: logs, events, wait, submit.

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/live.h"

namespace muster {

// For how long to go on trying: each time a little longer, a minute in all.
class Patience {
 public:
  // Sleeps. False if it has been tried for too long, or Ctrl-C came.
  bool try_again();
  void reset() { tries_ = 0; }

 private:
  int tries_ = 0;
};

// The job as it is now; tries again while the manager does not answer.
Result<nlohmann::json> job_now(ApiClient& client, const std::string& id);

// Waits until something happens to the job that is later than event number `after`, which goes on
// to that event. False if `stop` said so or nobody answers any more; the caller looks at the job.
bool await_event(ApiClient& client, const std::string& id, std::string& after,
                 const std::function<bool()>& stop);

// Waits for the job's end, and returns it as it then is; as it is now if `stop` said so.
Result<nlohmann::json> await_end(ApiClient& client, const std::string& id,
                                 const std::function<bool()>& stop);

// "job 12 (resnet): done after 3m12s", "job 13 (bert): failed after 5s: exit 1".
std::string fate_line(const nlohmann::json& job);
// The exit status that goes with it.
int fate_status(const nlohmann::json& job);

// Prints the output of all leases of a job that is under way, until it is over (with
// `options.logs.lease`, until that lease is). Status 0, 1 if there is none to be had, or 130.
int follow_output(ApiClient& client, const std::string& id, const LiveOptions& options,
                  Streams streams);

}  // namespace muster
