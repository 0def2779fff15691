#pragma once

// Table of all placements.

#include <span>

#include "engine/core/placer.h"
#include "engine/core/registry.h"

namespace muster {

std::span<const Entry<Placer>> placements();

}  // namespace muster
