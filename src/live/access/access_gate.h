#pragma once

// Admits or refuses the users who call the manager, and gives them their rights. The API server
// calls it for each request, on its thread.

#include <memory>

#include "api/port/service.h"
#include "base/types/result.h"
#include "live/access/access_rules.h"
#include "live/access/manager_mode.h"
#include "live/access/system_users.h"

namespace muster {

class AccessGate {
 public:
  AccessGate(AccountMode mode, AccessConfig config, std::unique_ptr<GroupLookup> users);

  // Sets the role and the rights of an identified caller. On entry, `is_operator` is the claim of
  // the credential: root, the manager's user, or a token of an operator. Returns kForbidden if the
  // mode does not admit the user; `caller` is then undefined.
  MaybeError admit(Caller& caller);

 private:
  AccountMode mode_;
  AccessRules rules_;
  std::unique_ptr<GroupLookup> users_;
};

}  // namespace muster
