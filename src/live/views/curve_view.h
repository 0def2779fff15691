#pragma once

// How a job's speed depends on its CPUs, as the dashboard draws it.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "engine/core/cluster.h"

namespace muster {

// {"cpus": [...], "speed": [...], "now": {...}, "share": {...}, "need": ..}: of the whole job, at
// the memory it holds, or would have by its share of a server; speeds relative to the best there.
// `held`: what it holds, or nullptr. Nothing if nobody has measured its like.
std::optional<nlohmann::json> curve_view(const Cluster& cluster, const JobSpec& spec,
                                         const Placement* held);

}  // namespace muster
