#pragma once

// The key of muster-grant: the file "key" with 32 random bytes and mode 0400, in a directory of the
// same user with mode 0700.

#include <sys/types.h>

#include "exec/launch/grant.h"

namespace muster {

// Reads the key. Fails with kNotFound if there is no file, and with kForbidden if it or the
// directory has another owner or mode.
Result<GrantKey> read_grant_key(const std::string& directory, uid_t owner);

// Like read_grant_key() for the own user; creates a missing key, durably. A process that is killed
// at any time leaves a complete key or none. Concurrent callers get the same key.
Result<GrantKey> open_grant_key(const std::string& directory);

}  // namespace muster
