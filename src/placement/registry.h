#pragma once

// The table of placements.

#include <span>

#include "core/placer.h"
#include "core/registry.h"

namespace muster {

std::span<const Entry<Placer>> placements();

}  // namespace muster
