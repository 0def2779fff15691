#pragma once

// Conversion of an error answer of the manager to an Error.

#include "api/client/api_client.h"
#include "base/types/error.h"

namespace muster {

// Returns the manager's message ("error") and code ("code"). Without a "code", uses the code that
// is closest to the HTTP status. REQUIRES: !reply.ok().
Error error_of(const HttpReply& reply);

}  // namespace muster
