#pragma once

// The parameters of Manager::open().

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/port/service.h"
#include "base/types/time.h"
#include "engine/fit/session.h"
#include "exec/lease/lease_files.h"
#include "live/access/manager_mode.h"
#include "live/lease/launch.h"
#include "live/query/past_queries.h"
#include "live/views/views.h"

namespace muster {

struct ManagerSettings {
  std::string home;
  LeaseFiles files = LeaseFiles("");  // The output and reports of leases.
  // Settings text (settings.h). New settings take effect when all running jobs fit them.
  std::string scheduling;
  AccountMode account;
  std::vector<NodeCaveats> nodes;
  LaunchSettings launch;                               // The manager sets `instance` and `key`.
  std::vector<std::string> node_test = {"/bin/true"};  // Command that a quarantined node must pass.
  Duration retention = Duration::seconds(30 * 86'400);
  Duration progress_every = Duration::seconds(2);
  bool profile = true;  // Measure the speed of jobs without a profile.
  // Long times, because jobs report no steps during imports and evaluations.
  SessionOptions profiling = {.patience = Duration::seconds(600), .budget = Duration::seconds(900)};
  std::size_t most_queued = 100'000;
  std::size_t most_queued_per_user = 50'000;
  std::size_t snapshot_every = 20'000;  // In journal entries; see snapshot_weight().
  std::function<void(const std::string&)> log;
  decltype(PastSettings::what_if) what_if;  // See past_queries.h.
  // Shorter than the time that the API server waits for the answer.
  Duration what_if_time = kAnswerTime - Duration::seconds(10);
};

}  // namespace muster
