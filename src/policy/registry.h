#pragma once

// The table of policies.

#include <span>

#include "core/policy.h"
#include "core/registry.h"
#include "policy/options.h"

namespace muster {

using PolicyEntry = Entry<Policy, PolicyOptions>;

std::span<const PolicyEntry> policies();

}  // namespace muster
