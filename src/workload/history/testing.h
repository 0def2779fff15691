#pragma once

// Helper for tests of histories.

#include <string>

#include "workload/history/history.h"

namespace muster {

// Returns "id tenant user model" of the job; unknown names are empty.
inline std::string names_of(const History& history, const PastJob& job) {
  return history.ids[job.id] + " " + history.tenants[job.tenant] + " " + history.users[job.user] +
         " " + history.models[job.model];
}

}  // namespace muster
