#include "live/query/seen_by.h"

#include "api/port/permissions.h"
#include "engine/model/tenants.h"

namespace muster {

std::optional<SeenBy> seen_by(const Caller& caller) {
  if (may_see_all(caller)) return std::nullopt;
  SeenBy seen{caller.user, caller.uid, {}};
  if (!caller.rights) return seen;
  seen.tenants = caller.rights->admin_of;
  if (caller.rights->visibility == Visibility::kTenant) {
    const auto& tenants = caller.rights->tenants;
    seen.tenants.insert(seen.tenants.end(), tenants.begin(), tenants.end());
  }
  for (std::size_t i = 0; i < seen.tenants.size(); ++i) {
    if (seen.tenants[i] != kDefaultTenant) continue;
    seen.tenants.emplace_back();  // Most rows of the default tenant have no name.
    break;
  }
  return seen;
}

}  // namespace muster
