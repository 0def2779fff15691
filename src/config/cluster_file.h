#pragma once

// Reads the cluster a user names on the command line.

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/topology.h"

namespace muster {

// Called once, before a run. A `spec` that names a file is read as one (docs/formats.md,
// "Clusters"); anything else is the shorthand of parse_cluster_shorthand(). What looks like a path
// but is not there is reported as a missing file, not as bad shorthand.
Result<Topology> read_cluster(const std::string& spec);

// The file's form from memory; `name` stands for the file in messages.
Result<Topology> parse_cluster(std::string_view text, const std::string& name);

}  // namespace muster
