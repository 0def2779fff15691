#include "engine/model/pairs.h"

#include <cmath>

#include "base/types/check.h"

namespace muster {

void PairTable::add(ProfileId first, ProfileId second, std::int32_t gpus, PairSpeed speed) {
  MUSTER_CHECK(gpus >= 1);
  MUSTER_CHECK(std::isfinite(speed.first) && speed.first >= 0);
  MUSTER_CHECK(std::isfinite(speed.second) && speed.second >= 0);
  if (second < first) {
    std::swap(first, second);
    std::swap(speed.first, speed.second);
  }
  speeds_[Key{first, second, gpus}] = speed;
}

std::optional<PairSpeed> PairTable::find(ProfileId first, ProfileId second,
                                         std::int32_t gpus) const {
  const bool swapped = second < first;
  const auto at = speeds_.find(swapped ? Key{second, first, gpus} : Key{first, second, gpus});
  if (at == speeds_.end()) return std::nullopt;
  const PairSpeed& speed = at->second;
  return swapped ? PairSpeed{speed.second, speed.first} : speed;
}

bool PairTable::fits(ProfileId first, ProfileId second, std::int32_t gpus) const {
  const std::optional<PairSpeed> speed = find(first, second, gpus);
  return speed && speed->first > 0 && speed->second > 0;
}

}  // namespace muster
