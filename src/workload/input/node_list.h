#pragma once

// Reads a cluster as a CSV list of nodes, in the format that Alibaba published with the pods of its
// 2023 trace (docs/reference/formats.md, "Clusters").

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/topology.h"

namespace muster {

inline constexpr std::size_t kMaxListedTypes = 1'000;  // Maximum number of GPU types.

struct NodeList {
  Topology topology;
  // One line for each kind of skipped row or assumption. The caller shows them to the user.
  std::vector<std::string> notes;
};

// Reads the list once before a run. Returns the first error in one line with file, line and value.
Result<NodeList> read_node_list(const std::string& path);

// Like read_node_list(), from memory. `name` is used as the path in messages.
Result<NodeList> parse_node_list(std::string_view text, const std::string& name);

}  // namespace muster
