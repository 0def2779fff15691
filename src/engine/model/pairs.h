#pragma once

// Measured speeds of two jobs packed on one GPU, relative to an unshared GPU. Loaded once (see
// workload/input/pairs_file.h). The simulator uses them as actual speeds. A scheduler uses only the
// information which pairs fit on a GPU.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/types/id.h"

namespace muster {

struct PairSpeed {
  double first = 0;   // Speed of the first job; 1 is its speed alone on the GPU.
  double second = 0;  // Speed of the second job.

  friend bool operator==(const PairSpeed&, const PairSpeed&) = default;
};

class PairTable {
 public:
  // Sets the speeds of two gangs of `gpus` each and replaces an earlier entry for the pair, in
  // either order. Speeds are finite and not negative; two zeros mean that the pair does not fit.
  void add(ProfileId first, ProfileId second, std::int32_t gpus, PairSpeed speed);

  // Returns the speeds in the order of the arguments, or nullopt if the pair was not measured.
  std::optional<PairSpeed> find(ProfileId first, ProfileId second, std::int32_t gpus) const;
  // True if the pair was measured and both speeds are above zero.
  bool fits(ProfileId first, ProfileId second, std::int32_t gpus) const;
  bool empty() const { return speeds_.empty(); }

 private:
  struct Key {
    ProfileId first;
    ProfileId second;
    std::int32_t gpus;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, PairSpeed> speeds_;  // Each key has the lower profile id first.
};

}  // namespace muster
