#pragma once

// Reads the cluster a user names on the command line, and the tenants its file may list.

#include <optional>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "engine/model/tenants.h"
#include "engine/model/topology.h"

namespace muster {

struct ClusterFile {
  Topology topology;
  std::optional<TenantTree> tenants;  // Their quotas fit the cluster. Empty: none are listed.
};

// Called once, before a run. A `spec` that names a file is read as one (docs/formats.md,
// "Clusters"); anything else is the shorthand of parse_cluster_shorthand(). What looks like a path
// but is not there is reported as a missing file, not as bad shorthand.
Result<ClusterFile> read_cluster_file(const std::string& spec);

// The file's form from memory; `name` stands for the file in messages.
Result<ClusterFile> parse_cluster_file(std::string_view text, const std::string& name);

// The same for who has no use for tenants: they are read, and refused if wrong, but not kept.
Result<Topology> read_cluster(const std::string& spec);
Result<Topology> parse_cluster(std::string_view text, const std::string& name);

}  // namespace muster
