#pragma once

// What the manager is opened with.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "base/types/time.h"
#include "engine/fit/session.h"
#include "exec/lease/lease_files.h"
#include "live/lease/launch.h"
#include "live/query/past_queries.h"
#include "live/views/views.h"

namespace muster {

struct ManagerSettings {
  std::string home;
  LeaseFiles files = LeaseFiles("");  // The output and reports of leases.
  std::string scheduling;             // See settings.h; another one than before holds when it can.
  std::vector<NodeNotes> nodes;
  LaunchSettings launch;                               // The instance is filled in.
  std::vector<std::string> node_test = {"/bin/true"};  // What a server must pass to return.
  Duration retention = Duration::seconds(30 * 86'400);
  Duration progress_every = Duration::seconds(2);
  bool profile = true;  // Measure the speed of jobs without a profile.
  // Imports and evaluations take long.
  SessionOptions profiling = {.patience = Duration::seconds(600), .budget = Duration::seconds(900)};
  std::size_t most_queued = 100'000;
  std::size_t most_queued_per_user = 50'000;
  std::size_t snapshot_every = 20'000;  // Entries, or jobs in them.
  std::function<void(const std::string&)> log;
  decltype(PastSettings::what_if) what_if;  // See past_queries.h.
  // Ends before the server gives up on the answer.
  Duration what_if_time = kAnswerTime - Duration::seconds(10);
};

}  // namespace muster
