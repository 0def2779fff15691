#pragma once

// Which Muster this is: what `muster --version` and the API say.

namespace muster {

inline constexpr const char* kMusterVersion = "0.1.0";

}  // namespace muster
