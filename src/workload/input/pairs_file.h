#pragma once

// Reads how fast jobs run that are packed on one GPU, pair by pair, as the Gavel project measured
// it: steps a second alone and together (docs/formats.md, "Pairs").

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "engine/model/pairs.h"
#include "engine/model/profile.h"

namespace muster {

inline constexpr std::size_t kMostPairModels = 1'000;
inline constexpr std::size_t kMostPairRows = 1'000'000;

struct PairsFile {
  PairTable table;
  // What was read otherwise than written, one line each, to be shown to the user once: speeds above
  // those alone, pairs of which the two orders disagree, models without a profile.
  std::vector<std::string> notes;
};

// Called once, before the trace is read, so that a trace may name the models: those without a
// profile get one, of unknown sensitivity. Refuses the whole file at the first thing wrong in it,
// in one line that names the file, line and culprit, and then adds no profile.
Result<PairsFile> read_pairs(const std::string& path, ProfileTable& profiles);

// The same from memory; `name` stands for the path in messages.
Result<PairsFile> parse_pairs(std::string_view text, const std::string& name,
                              ProfileTable& profiles);

}  // namespace muster
