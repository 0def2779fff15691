#pragma once

// The table of mechanisms.

#include <span>

#include "core/mechanism.h"
#include "core/registry.h"

namespace muster {

std::span<const Entry<Mechanism>> mechanisms();

}  // namespace muster
