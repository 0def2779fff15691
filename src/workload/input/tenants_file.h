#pragma once

// Reads the tenants a user writes down: the `tenants` section of a cluster's file or of a file of
// its own (docs/formats.md, "Tenants"), or a few words on the command line.

#include <string>
#include <string_view>

#include "base/file/document.h"
#include "base/types/result.h"
#include "engine/model/tenants.h"

namespace muster {

// Called once, before a run, with what --tenants was given. What names a file is read as one; what
// has an '=' is the inline form, "a=64,b=32,share=fair,reclaim=0.9". The cluster is not known here:
// the caller asks TenantTree::check().
Result<TenantTree> read_tenants(const std::string& file_or_inline);

// The file's form from memory; `name` stands for the file in messages.
Result<TenantTree> parse_tenants(std::string_view text, const std::string& name);

// The inline form alone.
Result<TenantTree> parse_inline_tenants(std::string_view text);

// What stands under the key `tenants`, for readers of files that have such a key.
Result<TenantTree> read_tenants_section(const Item& section, const std::string& file);

// The tree as a file that reads back the same, to keep and edit quotas that were inferred. A name
// out of a trace may have letters that are not allowed in files; those are refused when read.
std::string tenants_yaml(const TenantTree& tree);

}  // namespace muster
