#pragma once

// The rules of access: which rights a user of this machine has, by the configuration. Pure: the
// groups of the user are an argument.

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/port/rights.h"

namespace muster {

struct UserList {
  std::vector<std::string> users;
  std::vector<std::string> groups;  // Unix groups; "*" means all users.
  bool empty() const { return users.empty() && groups.empty(); }
};

// The users of one tenant. An admin is also a member.
struct TenantUsers {
  std::string tenant;
  UserList members;
  std::vector<std::string> admins;
};

struct AccessConfig {
  UserList operators;
  UserList viewers;
  std::vector<TenantUsers> tenants;  // In the order of the file; only leaf tenants.
  PriorityRange user_priority = {-100, 0};
  PriorityRange admin_priority = {-100, 100};
  PriorityRange operator_priority = {-1000, 1000};
  Visibility visibility = Visibility::kOwn;
  bool hide_names = true;

  // Whether tenants have users. If not, all users may submit to all tenants.
  bool binds_tenants() const;
};

class AccessRules {
 public:
  explicit AccessRules(AccessConfig config);

  const AccessConfig& config() const { return config_; }
  // Whether a rule names a Unix group, so that rights_of() needs the groups of a user.
  bool needs_groups() const { return needs_groups_; }

  // Returns the rights of a user. `groups`: names of the user's groups. `is_operator`: an operator
  // by other means, such as root. `may_operate`: false for a token without operator rights.
  // O(groups * log(rules)), not O(number of tenants).
  Rights rights_of(std::string_view user, std::span<const std::string> groups, bool is_operator,
                   bool may_operate = true) const;

 private:
  using Places = std::set<std::size_t>;
  struct Index {  // By name: the tenants whose list has it.
    std::map<std::string, Places, std::less<>> users, groups;
  };
  Places found_in(const Index& index, std::string_view user,
                  std::span<const std::string> groups) const;

  AccessConfig config_;
  Index members_, admins_;
  Index operators_, viewers_;  // Place 0 only.
  bool needs_groups_ = false;
};

}  // namespace muster
