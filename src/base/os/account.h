#pragma once

// User accounts of this machine. Jobs run as one of them.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct Account {
  uid_t user = 0;
  gid_t group = 0;  // Primary group.
  std::string name;
};

// Find an account by name, or by number if there is no such name. Fail with kNotFound.
Result<Account> find_account(const std::string& user);
Result<Account> find_account(uid_t user);

// Returns the names of the groups of the account, at most 1,000. Omits groups without a name.
std::vector<std::string> groups_of(const Account& account);

// Whether two names belong to the same user id. One user id can have several names.
bool is_same_account(const std::string& a, const std::string& b);

}  // namespace muster
