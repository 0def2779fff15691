#pragma once

// Reads tenants: the `tenants` section of a cluster file or of a separate file
// (docs/reference/formats.md, "Tenants"), or the inline form on the command line.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/document.h"
#include "base/file/item_reader.h"
#include "base/types/result.h"
#include "engine/model/tenants.h"

namespace muster {

// Reads the value of --tenants once before a run. If it names a file, the file is read. Text with
// an
// '=' is the inline form, such as "a=64,b=32,share=fair,reclaim=0.9". The caller must call
// TenantTree::check(), because the cluster is not known here.
Result<TenantTree> read_tenants(const std::string& file_or_inline);

// Parses the text of a file. `name` is used as the path in messages.
Result<TenantTree> parse_tenants(std::string_view text, const std::string& name);

// Parses only the inline form.
Result<TenantTree> parse_inline_tenants(std::string_view text);

// Parses the value of the key `tenants`, for readers of files with this key.
Result<TenantTree> read_tenants_section(const Item& section, const std::string& file);

// The users of a tenant, for the live manager. Simulations accept and ignore them.
struct TenantMembers {
  std::string tenant;
  std::vector<std::string> users, groups, admins;  // A group may be "*": all users.
};
// Parses the same value as read_tenants_section(). Returns one entry per tenant without children.
// Fails if a tenant with children has users or groups; its admins administer its children.
Result<std::vector<TenantMembers>> read_tenant_members(const Item& section,
                                                       const std::string& file);

// Reads a list of user names, or of group names, which may be "*". At most 1,000 names.
enum class NameKind : std::uint8_t { kUser, kGroup };
std::vector<std::string> read_names(ItemReader& reader, const Item& list, NameKind kind);

// Returns the tree as YAML that reads as the same tree, so that users can edit inferred quotas.
// Names from a trace may have characters that are not allowed in files; reading such a file fails.
std::string tenants_yaml(const TenantTree& tree);

}  // namespace muster
