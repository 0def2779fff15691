#pragma once

// Table of jobs in the manager's order. `queue` prints it, as does `status` for a whole array.
// `wait` uses list_array().

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/live/live_session.h"

namespace muster {

struct JobTable {
  std::vector<nlohmann::json> jobs;
  std::uint64_t total = 0;  // Matching jobs in the manager; may exceed jobs.size().
  std::string notice = {};  // A remark of the manager for every list; may be empty.
};

Result<JobTable> list_jobs(ApiClient& client, const QueueOptions& queue);
std::string listing_text(const JobTable& listing);
nlohmann::json listing_json(const JobTable& listing);

// Returns "12" for "12_*", the name of a whole array. Returns nullopt for other names.
std::optional<std::string> array_in(const std::string& name);
// Returns all jobs of the array, or an error if there are none.
Result<JobTable> list_array(ApiClient& client, const std::string& array);

}  // namespace muster
