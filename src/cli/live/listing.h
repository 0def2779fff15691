#pragma once

// Jobs as a table, as the manager orders them: what `queue` shows, and of a whole array `status`
// and `wait`.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/live/live.h"

namespace muster {

struct Listing {
  std::vector<nlohmann::json> jobs;
  std::uint64_t total = 0;
};

Result<Listing> list_jobs(ApiClient& client, const QueueOptions& queue);
std::string listing_text(const Listing& listing);
nlohmann::json listing_json(const Listing& listing);

// The id of "12_*", which stands for all jobs of that array.
std::optional<std::string> array_in(const std::string& name);
// All of them; refused if there are none.
Result<Listing> list_array(ApiClient& client, const std::string& array);

}  // namespace muster
