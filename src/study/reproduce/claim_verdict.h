#pragma once

// Compares our figure with a published claim.

#include <cstdint>
#include <string>

#include "study/reproduce/experiment.h"

namespace muster {

struct ClaimVerdict {
  enum class Kind : std::uint8_t { kReproduced, kDirectionOnly, kNotReproduced };
  Kind kind = Kind::kNotReproduced;
  std::string text;  // "reproduced", "direction only: WHY" or "not reproduced: WHY".
};

ClaimVerdict judge(const Claim& claim, double ours);

}  // namespace muster
