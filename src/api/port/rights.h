#pragma once

// The rights of a caller as values. live/access decides them when the server identifies the caller.
// The server and the manager only compare them with the owner of a job (permissions.h).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/uid.h"

namespace muster {

enum class Role : std::uint8_t {
  kViewer,    // Sees jobs by `visibility`, changes nothing.
  kUser,      // Own jobs.
  kAdmin,     // Also the jobs of the tenants in `admin_of`.
  kOperator,  // All jobs, nodes and settings.
};
std::string_view name_of(Role role);  // "viewer", "user", "admin", "operator".

// Jobs of other users that a user or viewer may see.
enum class Visibility : std::uint8_t {
  kOwn,     // None.
  kTenant,  // Jobs of the caller's tenants.
  kAll,     // All.
};

// Accepted priorities of a request. Includes both ends.
struct PriorityRange {
  std::int32_t low = -1000;
  std::int32_t high = 1000;
  friend bool operator==(const PriorityRange&, const PriorityRange&) = default;
};

struct Rights {
  Role role = Role::kUser;
  bool any_tenant = true;            // May submit to every tenant; `tenants` may be empty.
  std::vector<std::string> tenants;  // May submit to these; the first is the default.
  std::vector<std::string> admin_of;
  Visibility visibility = Visibility::kOwn;
  bool hide_names = true;  // Hide names of jobs and users that the caller may not see.
  PriorityRange priority;
  PriorityRange admin_priority;  // For the tenants in `admin_of`.
  friend bool operator==(const Rights&, const Rights&) = default;
};

// The owner of a job. The uid is the identity; the name identifies owners without a uid, such as
// those in journals of earlier versions.
struct JobOwner {
  std::string_view user;
  std::uint32_t uid = kNoUid;
  std::string_view tenant;  // Empty: the default tenant.
};

}  // namespace muster
