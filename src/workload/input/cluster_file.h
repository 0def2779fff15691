#pragma once

// Reads the cluster that the user names on the command line, and the tenants in its file.

#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "engine/model/tenants.h"
#include "engine/model/topology.h"

namespace muster {

struct ClusterFile {
  Topology topology;
  std::optional<TenantTree> tenants;  // Their quotas fit the cluster. Empty: the file lists none.
};

// Reads a cluster once before a run. If `spec` names a file, the file is read
// (docs/reference/formats.md, "Clusters"). Otherwise `spec` is a shorthand for
// parse_cluster_shorthand(). A spec that looks like a path gives a missing file error.
Result<ClusterFile> read_cluster_file(const std::string& spec);

// Parses the text of a cluster file. `name` is used as the path in messages.
Result<ClusterFile> parse_cluster_file(std::string_view text, const std::string& name);

// Like the functions above, for callers that do not use tenants. Tenants are validated and dropped.
Result<Topology> read_cluster(const std::string& spec);
Result<Topology> parse_cluster(std::string_view text, const std::string& name);

}  // namespace muster
