#pragma once

// The amounts of CPU and memory per GPU worth giving a job, from the whole of its profile.

#include <cstdint>
#include <vector>

#include "engine/core/cluster.h"

namespace muster {

struct Choice {
  std::int64_t cpu_milli;  // Per GPU.
  std::int64_t mem_mib;    // Per GPU.
  double speed;            // Relative to the reference share, this node's GPU type included.
};

enum class ChoiceGrid : std::uint8_t {
  kMeasured,  // Only points of the profile, as Synergy-Opt has it.
  kFine,      // Whole CPUs between them too.
};

// All choices for a job of this spec on a server like `node` that are as fast as this share or
// faster (usually the node's proportional share), that a server can give a job of this size, and
// that no other choice beats in all respects, none below what the job asks for at the least. Never
// empty: the share itself, raised to that, is always among the candidates. Ascending by speed.
std::vector<Choice> choices_for(const Cluster& cluster, const JobSpec& spec, NodeId node,
                                const Resources& share, ChoiceGrid grid);
inline std::vector<Choice> choices_for(const Cluster& cluster, const JobSpec& spec, NodeId node,
                                       ChoiceGrid grid) {
  return choices_for(cluster, spec, node, cluster.fair(node), grid);
}

}  // namespace muster
