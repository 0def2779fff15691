#include "base/types/digest.h"

#include <fmt/format.h>

namespace muster {

std::string Digest::hex() const { return fmt::format("{:016x}", state_); }

}  // namespace muster
