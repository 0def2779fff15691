#pragma once

// The speed of a job by number of CPUs, as the dashboard draws it.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "engine/core/cluster.h"

namespace muster {

// {"cpus": [...], "speed": [...], "now": {...}, "share": {...}, "need": ..} of the whole job.
// Speeds are relative to the best one. Memory is what the job holds, or its share of a node.
// `held`: what it holds, or nullptr. Returns nullopt if there is no measured profile.
std::optional<nlohmann::json> curve_view(const Cluster& cluster, const JobSpec& spec,
                                         const Placement* held);

}  // namespace muster
