#pragma once

// Remarks about a node for users: virtual GPUs, limits that are not enforced.

#include <string>
#include <vector>

namespace muster {

// Facts about one node that the scheduler does not use.
struct NodeCaveats {
  bool gpus_virtual = false;
  bool full_isolation = false;
  std::vector<std::string> words;  // Human-readable remarks.
};

}  // namespace muster
