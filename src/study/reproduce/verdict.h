#pragma once

// Compares our figure with a published claim.

#include <cstdint>
#include <string>

#include "study/reproduce/experiment.h"

namespace muster {

struct Verdict {
  enum class Kind : std::uint8_t { kReproduced, kDirectionOnly, kNotReproduced };
  Kind kind = Kind::kNotReproduced;
  std::string text;  // "reproduced", "direction only: WHY" or "not reproduced: WHY".
};

Verdict judge(const Claim& claim, double ours);

}  // namespace muster
