#pragma once

// An answer of the manager that is a refusal, as an error.

#include "api/client/api_client.h"
#include "base/types/error.h"

namespace muster {

// REQUIRES: !reply.ok(). The message is the manager's own, in "error". The code is that of "code",
// or else the one nearest to the HTTP status.
Error error_of(const HttpReply& reply);

}  // namespace muster
