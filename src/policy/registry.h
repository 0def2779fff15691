#pragma once

// The table of policies.

#include <span>

#include "core/policy.h"
#include "core/registry.h"

namespace muster {

std::span<const Entry<Policy>> policies();

}  // namespace muster
