#pragma once

// The files of experiments/, embedded at build time.

#include <string_view>

namespace muster {

std::string_view experiments_yaml();

}  // namespace muster
