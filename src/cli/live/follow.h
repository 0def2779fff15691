#pragma once

// Follows jobs until they finish or the user presses Ctrl-C. Reconnects after broken connections
// and manager restarts. The commands logs, events, wait and submit use it.

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/live/live_session.h"

namespace muster {

// Delays between connection attempts: each is longer than the one before, about a minute in total.
class ReconnectBackoff {
 public:
  // Sleeps before the next attempt. Returns false after too many attempts or after Ctrl-C.
  bool try_again();
  void reset() { tries_ = 0; }

 private:
  int tries_ = 0;
};

// Returns the job's full id. Use it instead of a prefix, which may match more jobs later.
std::string whole_id(const nlohmann::json& job);

// Returns the job's current state. Retries while the manager does not answer.
Result<nlohmann::json> job_now(ApiClient& client, const std::string& id);

// Waits for events of one job.
class EventWatch {
 public:
  EventWatch(ApiClient& client, std::string id) : client_(client), id_(std::move(id)) {}

  // Waits until the job may have changed. Returns false if `stop` returns true, or if the manager
  // did not answer for too long.
  bool next(const std::function<bool()>& stop);

 private:
  ApiClient& client_;
  std::string id_;
  std::string after_;  // Id of the last event received; empty: none yet.
  bool ended_ = false;
  ReconnectBackoff patience_;
};

// Waits until the job is finished, or `stop` returns true. Returns the job's state at that time.
Result<nlohmann::json> await_end(ApiClient& client, const std::string& id,
                                 const std::function<bool()>& stop);

// "job 12 (resnet): done after 3m12s", "job 13 (bert): failed after 5s: exit 1".
std::string fate_line(const nlohmann::json& job);
// The exit status for a finished job: 0 if it is done, otherwise 1.
int fate_status(const nlohmann::json& job);

// Prints the output of all leases of an active job until the job is finished (with
// `options.logs.lease`: until that lease ends). Returns 0, 1 if there is no output, or 130.
int follow_output(ApiClient& client, const std::string& id, const LiveOptions& options,
                  Streams streams);

}  // namespace muster
