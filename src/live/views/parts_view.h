#pragma once

// The available scheduler parts as JSON for GET /v1/parts. The names and texts come from the
// registries, which `muster policies` also prints.

#include <nlohmann/json_fwd.hpp>

namespace muster {

nlohmann::json parts_view();

}  // namespace muster
