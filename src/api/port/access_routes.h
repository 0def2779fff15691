#pragma once

// Parser for requests for the audit. For routes.cc.

#include "api/port/routes.h"

namespace muster {

Result<Routed> read_audit(const RequestTarget& target, const HttpRequest& request);

}  // namespace muster
