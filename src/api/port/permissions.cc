#include "api/port/permissions.h"

#include <algorithm>
#include <array>

#include "engine/model/tenants.h"

namespace muster {

namespace {

bool has_tenant(const std::vector<std::string>& tenants, std::string_view tenant) {
  return std::find(tenants.begin(), tenants.end(), tenant_or_default(tenant)) != tenants.end();
}

}  // namespace

std::string_view name_of(Role role) {
  constexpr std::array<std::string_view, 4> kNames = {"viewer", "user", "admin", "operator"};
  return kNames.at(static_cast<std::size_t>(role));
}

Role role_of(const Caller& caller) {
  if (caller.is_operator) return Role::kOperator;
  return caller.rights ? caller.rights->role : Role::kUser;
}

bool is_own(const Caller& caller, const JobOwner& owner) {
  return owner.uid == kNoUid ? caller.user == owner.user : caller.uid == owner.uid;
}

bool may_see_all(const Caller& caller) {
  return caller.is_operator || (caller.rights && caller.rights->visibility == Visibility::kAll);
}

bool may_see(const Caller& caller, const JobOwner& owner) {
  if (may_see_all(caller) || is_own(caller, owner) || is_admin_of(caller, owner.tenant))
    return true;
  return caller.rights && caller.rights->visibility == Visibility::kTenant &&
         has_tenant(caller.rights->tenants, owner.tenant);
}

bool may_change(const Caller& caller, const JobOwner& owner) {
  if (caller.is_operator || is_admin_of(caller, owner.tenant)) return true;
  return role_of(caller) != Role::kViewer && is_own(caller, owner);
}

bool may_name(const Caller& caller, const JobOwner& owner) {
  return may_name_all(caller) || may_see(caller, owner);
}

bool may_name_all(const Caller& caller) {
  return may_see_all(caller) || (caller.rights && !caller.rights->hide_names);
}

bool is_admin_of(const Caller& caller, std::string_view tenant) {
  return caller.rights && has_tenant(caller.rights->admin_of, tenant);
}

bool may_submit_to(const Caller& caller, std::string_view tenant) {
  if (caller.is_operator || !caller.rights) return true;
  if (caller.rights->role == Role::kViewer) return false;
  return caller.rights->any_tenant || has_tenant(caller.rights->tenants, tenant);
}

PriorityRange priorities_of(const Caller& caller, std::string_view tenant) {
  if (!caller.rights) return {};
  return is_admin_of(caller, tenant) ? caller.rights->admin_priority : caller.rights->priority;
}

}  // namespace muster
