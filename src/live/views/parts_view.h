#pragma once

// The parts that schedulers are put together from, as JSON for GET /v1/parts. The names and texts
// are those of the registries, which `muster policies` prints too.

#include <nlohmann/json_fwd.hpp>

namespace muster {

nlohmann::json parts_view();

}  // namespace muster
