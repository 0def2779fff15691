#include "live/access/access_rules.h"

#include <algorithm>
#include <utility>

namespace muster {

namespace {

constexpr std::string_view kAllUsers = "*";

}  // namespace

bool AccessConfig::binds_tenants() const {
  return std::any_of(tenants.begin(), tenants.end(), [](const TenantUsers& each) {
    return !each.members.empty() || !each.admins.empty();
  });
}

AccessRules::AccessRules(AccessConfig config) : config_(std::move(config)) {
  const auto add = [this](Index& index, const UserList& list, std::size_t place) {
    for (const std::string& user : list.users) index.users[user].insert(place);
    for (const std::string& group : list.groups) {
      index.groups[group].insert(place);
      needs_groups_ = needs_groups_ || group != kAllUsers;
    }
  };
  add(operators_, config_.operators, 0);
  add(viewers_, config_.viewers, 0);
  for (std::size_t i = 0; i < config_.tenants.size(); ++i) {
    const TenantUsers& tenant = config_.tenants[i];
    add(members_, tenant.members, i);
    add(members_, {tenant.admins, {}}, i);
    add(admins_, {tenant.admins, {}}, i);
  }
}

AccessRules::Places AccessRules::found_in(const Index& index, std::string_view user,
                                          std::span<const std::string> groups) const {
  Places places;
  const auto take = [&places](const auto& map, std::string_view name) {
    const auto found = map.find(name);
    if (found != map.end()) places.insert(found->second.begin(), found->second.end());
  };
  take(index.users, user);
  take(index.groups, kAllUsers);
  for (const std::string& group : groups) {
    if (group != kAllUsers) take(index.groups, group);
  }
  return places;
}

Rights AccessRules::rights_of(std::string_view user, std::span<const std::string> groups,
                              bool is_operator, bool may_operate) const {
  Rights rights;
  rights.visibility = config_.visibility;
  rights.hide_names = config_.hide_names;
  rights.any_tenant = !config_.binds_tenants();
  for (const std::size_t i : found_in(members_, user, groups)) {
    rights.tenants.push_back(config_.tenants[i].tenant);
  }
  for (const std::size_t i : found_in(admins_, user, {})) {
    rights.admin_of.push_back(config_.tenants[i].tenant);
  }
  const bool listed = may_operate && !found_in(operators_, user, groups).empty();
  if (is_operator || listed) {
    rights.role = Role::kOperator;
    rights.any_tenant = true;
  } else if (!rights.admin_of.empty()) {
    rights.role = Role::kAdmin;
  } else if (!found_in(viewers_, user, groups).empty()) {
    rights.role = Role::kViewer;
  }
  const bool operates = rights.role == Role::kOperator;
  rights.priority = operates ? config_.operator_priority : config_.user_priority;
  rights.admin_priority = operates ? config_.operator_priority : config_.admin_priority;
  return rights;
}

}  // namespace muster
