#pragma once

// Following what happens to jobs: over broken connections and restarts of the manager, until
// Ctrl-C. Shared by the verbs that wait: logs, events, wait, submit.

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/live/live.h"

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

// The id that a beginning of one stands for; later it might stand for several.
std::string whole_id(const nlohmann::json& job);

// The job as it is now; tries again while the manager does not answer.
Result<nlohmann::json> job_now(ApiClient& client, const std::string& id);

// What happens to one job, event by event.
class EventWatch {
 public:
  EventWatch(ApiClient& client, std::string id) : client_(client), id_(std::move(id)) {}

  // Waits until there is reason to look at the job again. False if `stop` said so, or the manager
  // has said nothing for too long.
  bool next(const std::function<bool()>& stop);

 private:
  ApiClient& client_;
  std::string id_;
  std::string after_;  // The last event that came.
  bool ended_ = false;
  Patience patience_;
};

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
