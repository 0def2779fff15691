#pragma once

// Users of this machine, as whom jobs may be submitted.

#include <sys/types.h>

#include <string>

#include "base/types/result.h"

namespace muster {

struct Account {
  uid_t user = 0;
  gid_t group = 0;  // His own.
  std::string name;
};

// By name, or by number where no name is such.
Result<Account> find_account(const std::string& user);
Result<Account> find_account(uid_t user);

// Whether two names are of one user, who may have several.
bool is_same_account(const std::string& a, const std::string& b);

}  // namespace muster
