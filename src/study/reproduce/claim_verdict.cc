#include "study/reproduce/claim_verdict.h"

#include <cmath>

namespace muster {

namespace {

bool is_reproduced(const Claim& claim, double ours) {
  if (!std::isfinite(ours)) return false;
  if (claim.within &&
      std::abs(ours - *claim.published) > *claim.within * std::abs(*claim.published) + 1e-12) {
    return false;
  }
  if (claim.within_points && std::abs(ours - *claim.published) > *claim.within_points + 1e-12) {
    return false;
  }
  return !(claim.at_least && ours < *claim.at_least) && !(claim.at_most && ours > *claim.at_most);
}

bool has_direction(const Claim& claim, double ours) {
  if (!std::isfinite(ours) || (!claim.above && !claim.below)) return false;
  return !(claim.above && ours <= *claim.above) && !(claim.below && ours >= *claim.below);
}

}  // namespace

ClaimVerdict judge(const Claim& claim, double ours) {
  if (is_reproduced(claim, ours)) return {ClaimVerdict::Kind::kReproduced, "reproduced"};
  const std::string why = claim.why.empty() ? "" : ": " + claim.why;
  if (has_direction(claim, ours))
    return {ClaimVerdict::Kind::kDirectionOnly, "direction only" + why};
  return {ClaimVerdict::Kind::kNotReproduced,
          "not reproduced" + (why.empty() ? std::string(": the reason is not known") : why)};
}

}  // namespace muster
