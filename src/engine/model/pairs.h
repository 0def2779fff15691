#pragma once

// How fast two jobs run that are packed on one GPU, as measured: what each keeps of the speed it
// has alone. Read once (workload/input/pairs_file.h); the simulator takes it for the truth, and a
// scheduler only learns from it which pairs fit on a GPU at all.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/types/id.h"

namespace muster {

struct PairSpeed {
  double first = 0;   // Of the first job, relative to being alone.
  double second = 0;  // Of the second.

  friend bool operator==(const PairSpeed&, const PairSpeed&) = default;
};

class PairTable {
 public:
  // Both not negative and finite; two zeros mean that they do not fit. For gangs of `gpus` each.
  // Replaces what was known of the two, in either order.
  void add(ProfileId first, ProfileId second, std::int32_t gpus, PairSpeed speed);

  // Nothing when nobody has measured them, in either order, on so many GPUs.
  std::optional<PairSpeed> find(ProfileId first, ProfileId second, std::int32_t gpus) const;
  // Measured, and neither was stopped by the other.
  bool fits(ProfileId first, ProfileId second, std::int32_t gpus) const;
  bool empty() const { return speeds_.empty(); }

 private:
  struct Key {
    ProfileId first;
    ProfileId second;
    std::int32_t gpus;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, PairSpeed> speeds_;  // By pairs with the lower id first.
};

}  // namespace muster
