#pragma once

// Facts about nodes that the scheduler does not use.

#include <string>
#include <vector>

namespace muster {

// What is known of the servers beside what is scheduled; in the topology's order.
struct NodeNotes {
  bool gpus_virtual = false;
  bool full_isolation = false;
  std::vector<std::string> words;
};

}  // namespace muster
