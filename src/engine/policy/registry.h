#pragma once

// Table of all policies.

#include <span>

#include "engine/core/policy.h"
#include "engine/core/registry.h"
#include "engine/policy/options.h"

namespace muster {

using PolicyEntry = Entry<Policy, PolicyOptions>;

std::span<const PolicyEntry> policies();

}  // namespace muster
