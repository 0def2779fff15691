#pragma once

// Reads the keys of the configuration file that decide who may do what
// (docs/reference/configuration.md, "Access"). Used by serve_file.cc.

#include <string>

#include "base/file/item_reader.h"
#include "live/config/serve_file.h"

namespace muster {

// Reads operators, viewers, others, mode, jobs_share_account, priority, visibility and hide_names.
// The reader records errors.
void read_access(const Item& root, ItemReader& in, ServeFile& out);

// Reads the users of each tenant from the section `tenants`.
MaybeError read_tenant_users(const Item& section, const std::string& file, AccessConfig& out);

}  // namespace muster
