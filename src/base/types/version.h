#pragma once

// The version of Muster that `muster --version` and the API report.

namespace muster {

inline constexpr const char* kMusterVersion = "0.1.0";

}  // namespace muster
