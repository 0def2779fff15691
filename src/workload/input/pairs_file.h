#pragma once

// Reads the speeds of pairs of jobs that are packed on one GPU, as measured by the Gavel project:
// steps per second alone and together (docs/reference/formats.md, "Pairs").

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/pairs.h"
#include "engine/model/profile.h"

namespace muster {

inline constexpr std::size_t kMaxPairModels = 1'000;
inline constexpr std::size_t kMaxPairRows = 1'000'000;

struct PairsFile {
  PairTable table;
  // One line for each kind of changed value; the caller shows them to the user. Examples: speeds
  // above the speed alone, pairs with different values in both orders, models without a profile.
  std::vector<std::string> notes;
};

// Call it once, before reading the trace. Models without a profile get one with unknown
// sensitivity, so that the trace can use them. Returns the first error in one line with file, line
// and value; `profiles` is then unchanged.
Result<PairsFile> read_pairs(const std::string& path, ProfileTable& profiles);

// Like read_pairs(), from memory. `name` is used as the path in messages.
Result<PairsFile> parse_pairs(std::string_view text, const std::string& name,
                              ProfileTable& profiles);

}  // namespace muster
