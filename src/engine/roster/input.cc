#include "engine/roster/input.h"

#include <array>

namespace muster {

namespace {

constexpr std::array<std::string_view, 5> kFates = {"finished", "stopped", "failed", "time-limit",
                                                    "lost"};

}  // namespace

std::optional<LeaseResult> find_fate(std::string_view name) {
  for (std::size_t i = 0; i < kFates.size(); ++i) {
    if (kFates[i] == name) return static_cast<LeaseResult>(i);
  }
  return std::nullopt;
}

std::string_view fate_name(LeaseResult fate) { return kFates[static_cast<std::size_t>(fate)]; }

}  // namespace muster
