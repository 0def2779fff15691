#pragma once

// Table of all mechanisms.

#include <span>

#include "engine/core/mechanism.h"
#include "engine/core/registry.h"

namespace muster {

std::span<const Entry<Mechanism>> mechanisms();

}  // namespace muster
