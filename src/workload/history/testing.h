#pragma once

// For tests of histories: the names of a job as one text.

#include <string>

#include "workload/history/history.h"

namespace muster {

// "id tenant user model"; a name that is not known is empty.
inline std::string names_of(const History& history, const PastJob& job) {
  return history.ids[job.id] + " " + history.tenants[job.tenant] + " " + history.users[job.user] +
         " " + history.models[job.model];
}

}  // namespace muster
