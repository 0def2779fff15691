#pragma once

// Candidate amounts of CPU and memory per GPU for a job, from its full profile.

#include <cstdint>
#include <vector>

#include "engine/core/cluster.h"

namespace muster {

struct Choice {
  std::int64_t cpu_milli;  // Per GPU.
  std::int64_t mem_mib;    // Per GPU.
  double speed;  // Relative to the reference share; includes the factor of the node's GPU type.
};

enum class ChoiceGrid : std::uint8_t {
  kMeasured,  // Only the points of the profile, as in Synergy-Opt.
  kFine,      // Also whole CPUs between them.
};

// Returns all non-dominated choices for a job on a node like `node`, ascending by speed. Each is at
// least as fast as `share` (usually the node's proportional share), possible on a node for a job of
// this size, and at least JobSpec::least. Never empty: `share`, raised to `least`, is a candidate.
std::vector<Choice> choices_for(const Cluster& cluster, const JobSpec& spec, NodeId node,
                                const Resources& share, ChoiceGrid grid);
inline std::vector<Choice> choices_for(const Cluster& cluster, const JobSpec& spec, NodeId node,
                                       ChoiceGrid grid) {
  return choices_for(cluster, spec, node, cluster.fair(node), grid);
}

}  // namespace muster
