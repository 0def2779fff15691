#pragma once

// The Unix user id as a plain number, for code that does not call the system.

#include <cstdint>

namespace muster {

// The uid of a user who has no account on this machine, or whose uid was not recorded.
inline constexpr std::uint32_t kNoUid = UINT32_MAX;

}  // namespace muster
