#pragma once

// A cluster as a list of its servers, one line each, as Alibaba published it beside the pods of its
// trace of 2023 (docs/formats.md, "Clusters").

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/topology.h"

namespace muster {

inline constexpr std::size_t kMostListedTypes = 1'000;  // Of GPUs.

struct NodeList {
  Topology topology;
  // What was left out or taken for granted, one line each, to be shown to the user once.
  std::vector<std::string> notes;
};

// Called once, before a run. Refuses the whole file at the first thing wrong in it, in one line
// that names the file, line and culprit.
Result<NodeList> read_node_list(const std::string& path);

// The same from memory; `name` stands for the path in messages.
Result<NodeList> parse_node_list(std::string_view text, const std::string& name);

}  // namespace muster
